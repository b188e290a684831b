CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE sessions (
    session_id VARCHAR NOT NULL,
    roots TEXT DEFAULT '[]' NOT NULL,
    title TEXT DEFAULT '' NOT NULL,
    mode TEXT DEFAULT '' NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    status TEXT DEFAULT 'new' NOT NULL,
    created_ms BIGINT DEFAULT '0' NOT NULL,
    updated_ms BIGINT DEFAULT '0' NOT NULL,
    turns BIGINT DEFAULT '0' NOT NULL,
    input_tokens BIGINT DEFAULT '0' NOT NULL,
    output_tokens BIGINT DEFAULT '0' NOT NULL,
    cache_read_tokens BIGINT DEFAULT '0' NOT NULL,
    cache_write_tokens BIGINT DEFAULT '0' NOT NULL,
    reasoning_tokens BIGINT DEFAULT '0' NOT NULL,
    cost_usd DOUBLE DEFAULT '0' NOT NULL,
    last_seq BIGINT DEFAULT '0' NOT NULL,
    cursor TEXT DEFAULT '{}' NOT NULL,
    PRIMARY KEY (session_id)
);

CREATE INDEX ix_sessions_roots ON sessions (roots, updated_ms);

CREATE INDEX ix_sessions_updated ON sessions (updated_ms);

CREATE TABLE events (
    session_id VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    type TEXT NOT NULL,
    v INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session_id, seq),
    FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);

CREATE TABLE executions (
    session_id VARCHAR NOT NULL,
    execution_id VARCHAR NOT NULL,
    task TEXT DEFAULT '' NOT NULL,
    status TEXT DEFAULT 'running' NOT NULL,
    stop_reason TEXT,
    failure_reason TEXT DEFAULT '' NOT NULL,
    escalation_reason TEXT DEFAULT '' NOT NULL,
    started_ms BIGINT DEFAULT '0' NOT NULL,
    completed_ms BIGINT,
    total_steps BIGINT DEFAULT '0' NOT NULL,
    total_calls BIGINT DEFAULT '0' NOT NULL,
    input_tokens BIGINT DEFAULT '0' NOT NULL,
    output_tokens BIGINT DEFAULT '0' NOT NULL,
    cache_read_tokens BIGINT DEFAULT '0' NOT NULL,
    cache_write_tokens BIGINT DEFAULT '0' NOT NULL,
    reasoning_tokens BIGINT DEFAULT '0' NOT NULL,
    cost_usd DOUBLE DEFAULT '0' NOT NULL,
    state_snapshot JSON,
    PRIMARY KEY (session_id, execution_id),
    FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);

CREATE INDEX ix_executions_started ON executions (started_ms);

CREATE TABLE steps (
    session_id VARCHAR NOT NULL,
    step_id VARCHAR NOT NULL,
    execution_id VARCHAR DEFAULT '' NOT NULL,
    step_number BIGINT DEFAULT '0' NOT NULL,
    at_ms BIGINT DEFAULT '0' NOT NULL,
    duration_ms BIGINT DEFAULT '0' NOT NULL,
    attempts BIGINT DEFAULT '0' NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    finish_reason TEXT,
    reasoning TEXT DEFAULT '' NOT NULL,
    action JSON,
    result JSON,
    validation JSON,
    success BOOLEAN,
    error TEXT DEFAULT '' NOT NULL,
    input_tokens BIGINT DEFAULT '0' NOT NULL,
    output_tokens BIGINT DEFAULT '0' NOT NULL,
    cache_read_tokens BIGINT DEFAULT '0' NOT NULL,
    cache_write_tokens BIGINT DEFAULT '0' NOT NULL,
    reasoning_tokens BIGINT DEFAULT '0' NOT NULL,
    cost_usd DOUBLE DEFAULT '0' NOT NULL,
    PRIMARY KEY (session_id, step_id),
    FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);

CREATE INDEX ix_steps_execution ON steps (session_id, execution_id, step_number);

CREATE TABLE calls (
    session_id VARCHAR NOT NULL,
    call_id VARCHAR NOT NULL,
    execution_id VARCHAR DEFAULT '' NOT NULL,
    step_id VARCHAR DEFAULT '' NOT NULL,
    tool TEXT DEFAULT '' NOT NULL,
    effect TEXT,
    arguments TEXT DEFAULT '' NOT NULL,
    paths JSON,
    decision TEXT,
    decided_by TEXT DEFAULT '' NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    status TEXT DEFAULT 'pending' NOT NULL,
    error TEXT,
    result TEXT DEFAULT '' NOT NULL,
    output_id TEXT,
    added_lines BIGINT DEFAULT '0' NOT NULL,
    removed_lines BIGINT DEFAULT '0' NOT NULL,
    started_ms BIGINT,
    finished_ms BIGINT,
    duration_ms BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (session_id, call_id),
    FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);

CREATE INDEX ix_calls_execution ON calls (session_id, execution_id);

CREATE INDEX ix_calls_tool ON calls (tool, decision);

CREATE TABLE approvals (
    session_id VARCHAR NOT NULL,
    approval_id VARCHAR NOT NULL,
    execution_id VARCHAR DEFAULT '' NOT NULL,
    kind TEXT DEFAULT 'call' NOT NULL,
    call_id TEXT,
    asked_by TEXT DEFAULT '' NOT NULL,
    title TEXT DEFAULT '' NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    payload TEXT DEFAULT '' NOT NULL,
    digest TEXT DEFAULT '' NOT NULL,
    choice TEXT,
    note TEXT DEFAULT '' NOT NULL,
    answered_by TEXT DEFAULT '' NOT NULL,
    rule TEXT,
    requested_ms BIGINT DEFAULT '0' NOT NULL,
    resolved_ms BIGINT,
    PRIMARY KEY (session_id, approval_id),
    FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);

CREATE TABLE blobs (
    digest VARCHAR NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (digest)
);

CREATE TABLE leases (
    session_id VARCHAR NOT NULL,
    owner TEXT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (session_id)
);

INSERT INTO alembic_version VALUES ('0001');
