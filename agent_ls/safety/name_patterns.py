"""The names of files that steer programs, run later, or hold secrets. Data, and how it is matched.

A pattern is one or more components that end a path; one with a final slash is a folder anywhere
in it. ``*`` stays within a component. Everything is lower case, blanks separate.
"""

from __future__ import annotations

import re


def compiled(patterns: str) -> re.Pattern[str]:
    """Return one expression that finds any of the patterns in a path of lower-case components.

    What each begins and ends with is written once: such an expression is searched for every file.
    """
    names = patterns.split()
    ends = "|".join(_body(one) for one in names if not one.endswith("/")) or "(?!)"
    folders = "|".join(_body(one) for one in names if one.endswith("/")) or "(?!)"
    return re.compile(rf"(?:^|/)(?:(?:{ends})$|(?:{folders})(?:/|$))")


def _body(pattern: str) -> str:
    return re.escape(pattern.rstrip("/")).replace(r"\*", "[^/]*")


OURS = compiled("""
    .agent-ls/ *.agent-ls.md .config/agent-ls/ .local/share/agent-ls/ .local/state/agent-ls/
    .cache/agent-ls/
""")

_GIT = """
    .git/ .gitmodules .gitattributes .gitconfig .config/git/ .hg/ .hgrc .svn/ .jj/ .bzr/
"""
_HOOKS = """
    .husky/ .githooks/ githooks/ git-hooks/ .pre-commit-config.y*ml .pre-commit-hooks.y*ml
    lefthook*.y*ml .lefthook* lefthook*.toml lefthook*.json .lintstagedrc* lint-staged.config.*
    .overcommit.y*ml .huskyrc* captainhook.json grumphp.y*ml .simple-git-hooks* hooks.json
"""
_EDITORS = """
    .vscode/ .vscode-*/ .vscode-test* *.code-workspace .idea/ .fleet/ .zed/ .helix/ .vim/ .nvim/
    .vimrc .gvimrc .exrc .nvimrc .nvim.lua .lvimrc .local.vim .lazy.lua .neoconf.json
    .nlsp-settings/ .emacs .emacs.d/ .dir-locals.el .dir-locals-2.el .dir-settings.el
    .kateproject* *.sublime-project *.sublime-settings .kakrc* .kak/ .devcontainer/
    .devcontainer.json .ycm_extra_conf.py .clangd .ccls compile_flags.txt compile_commands.json
    .lsp.json .lsp/ .theia/ .run/ .project .classpath .settings/ .vs/ .nova/ .gitpod.y*ml
    .replit replit.nix
"""
_AGENTS = """
    agents.md agent.md agents.override.md claude.md claude.local.md gemini.md qwen.md crush.md
    warp.md .claude/ .claude.json .codex/ .cursor/ .cursorrules .cursorignore .windsurf/
    .windsurfrules .codeium/ .continue/ .continuerc* .aider* .gemini/ .geminiignore .qwen/
    .opencode/ opencode.json* .crush* .goosehints .goose/ .clinerules/ .cline/ .roo/ .roomodes
    .roorules* .kilocode/ .kiro/ .amazonq/ .augment/ .augment-guidelines .junie/ .agents/
    .agent/ .factory/ .trae/ .zencoder/ .copilot/ .rules copilot-instructions.md
    *.instructions.md *.prompt.md *.chatmode.md *.agent.md skill.md .aiignore .aiexclude
    .openhands/ .plandex* .sweep.y*ml .tabnine/ .tabby/ .void/ .serena/ .specify/
"""
_SERVERS = """
    .mcp.json mcp.json mcp.*.json mcp_config.json mcp-config.json .mcp/ mcp.y*ml
    mcp_settings.json mcp-servers.json smithery.y*ml .mcp.toml
"""
_CI = """
    .github/ .gitlab/ .gitlab-ci*.y*ml .circleci/ .buildkite/ .drone.y*ml .travis.y*ml
    appveyor.y*ml .appveyor.y*ml azure-pipelines*.y*ml .azure-pipelines/
    bitbucket-pipelines.y*ml jenkinsfile* *.jenkinsfile .woodpecker/ .woodpecker.y*ml .teamcity/
    cloudbuild*.y*ml buildspec*.y*ml .cirrus.y*ml .cirrus.star .semaphore/ .forgejo/ .gitea/
    .builds/ .build.y*ml .ci/ codeowners renovate.json* .renovaterc* dependabot.y*ml
    wercker.y*ml codemagic.y*ml bitrise.y*ml .sourcehut/ .tekton/ dagger.json earthfile
    netlify.toml vercel.json fly.toml render.y*ml railway.json railway.toml .argo/
"""
_STAGES = """
    local prod production dev develop development stage staging test testing live qa uat ci private
    secret secrets real
"""
_ENV_OF_STAGES = " ".join(f"env{mark}{stage}" for mark in "._-" for stage in _STAGES.split())
_ENV_FILES = f"""
    .env* *.env env.sh {_ENV_OF_STAGES} prod_env prod-env .envs/ .env.d/ dotenv dotenv.* .dotenv*
    .dev.vars* .flaskenv
"""
_ENVIRONMENT = f"""
    {_ENV_FILES} .direnv/ .direnvrc .npmrc .yarnrc
    .yarnrc.y*ml .pnpmfile.* .pypirc pip.conf pip.ini .netrc _netrc .curlrc .wgetrc
    .tool-versions .mise.toml mise.toml .mise.*.toml mise.*.toml .mise/ .rtx.toml .nvmrc
    .node-version .python-version .ruby-version .java-version .go-version .terraform-version
    .sdkmanrc .asdfrc rust-toolchain rust-toolchain.toml devbox.json .devenv/ devenv.nix
    devenv.y*ml .bazelrc .bazelversion .bundle/ .gemrc .cargo/ .condarc .terraformrc
    terraform.rc .ssh/ .gnupg/ .aws/ .azure/ .docker/ .kube/ .config/ .local/ .profile .bashrc
    .bash_* .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout
    .inputrc .xprofile .xinitrc .xsession* .pam_environment authorized_keys crontab .pythonrc*
    .pdbrc* .gdbinit .lldbinit .irbrc .pryrc .rprofile .renviron .ackrc .ripgreprc .tmux.conf
    .screenrc
"""

STEERING: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("steers git or another version control system", compiled(_GIT)),
    ("holds hooks that run by themselves", compiled(_HOOKS)),
    ("steers an editor", compiled(_EDITORS)),
    ("steers coding agents", compiled(_AGENTS)),
    ("starts tool servers", compiled(_SERVERS)),
    ("runs in CI or on a deployment", compiled(_CI)),
    ("sets up shells, keys or the environment of programs", compiled(_ENVIRONMENT)),
)
"""Each with what such a file does, in words that follow its name."""

EXECUTED_LATER = compiled("""
    package.json deno.json* bunfig.toml turbo.json* nx.json project.json lerna.json
    workspace.json rush.json composer.json package-scripts.* makefile makefile.* gnumakefile
    bsdmakefile *.mk *.mak justfile .justfile *.just taskfile*.y*ml rakefile *.rake gemfile
    *.gemspec guardfile capfile fastfile podfile dangerfile* brewfile thorfile vagrantfile procfile*
    setup.py setup.cfg pyproject.toml conftest.py tox.ini noxfile.py tasks.py fabfile.py dodo.py
    pavement.py wscript sconstruct sconscript pytest.ini .pytest.ini pytest.toml .coveragerc
    sitecustomize.py usercustomize.py *.pth manage.py hatch_build.py hatch.toml pdm.toml
    mypy.ini .mypy.ini .pylintrc pylintrc .flake8 pyrightconfig.json build.py pants.toml
    pants.ini build.gradle* settings.gradle* *.gradle *.gradle.kts init.gradle* gradlew*
    gradle.properties gradle/wrapper/ buildsrc/ pom.xml mvnw* .mvn/ build.xml ivy.xml *.sbt
    build.sc build.mill project.clj deps.edn bb.edn build.boot shadow-cljs.edn build.rs
    cargo.toml go.mod go.work magefile* magefiles/ mage.go mix.exs rebar.config* dub.json
    dub.sdl shard.yml package.swift *.csproj *.fsproj *.vbproj *.vcxproj *.sln *.slnx *.props
    *.targets nuget.config global.json cmakelists.txt *.cmake cmakepresets.json
    cmakeuserpresets.json meson.build meson.options meson_options.txt build.bazel
    workspace.bazel module.bazel *.bzl build.ninja configure configure.ac
    makefile.am autogen.sh *.m4 xmake.lua premake*.lua build.zig build.zig.zon *.nimble
    config.nims *.cabal stack.y*ml setup.hs dune dune-project *.opam *.nix flake.lock guix.scm
    manifest.scm tsconfig*.json jsconfig*.json *.config.js *.config.ts *.config.mjs *.config.cjs
    *.config.mts *.config.cts *.config.json *.setup.js *.setup.ts .eslintrc* .babelrc*
    .prettierrc* .stylelintrc* .mocharc* .swcrc .postcssrc* .nycrc* .c8rc* .jestrc*
    .commitlintrc* .releaserc* .czrc .parcelrc .terserrc* karma.conf.* protractor.conf.*
    wdio.conf.* gulpfile.* gruntfile.* jakefile* brunch-config.* ember-cli-build.* angular.json
    jest.*.js vitest.* cypress.* .ncurc* .yarn/ .pnp.* pnpm-workspace.y*ml biome.json*
    .oxlintrc* dockerfile* *.dockerfile containerfile* docker-compose*.y*ml compose*.y*ml
    docker-bake.* skaffold.y*ml tiltfile* garden.y*ml helmfile.y*ml kustomization.y*ml *.tf
    terragrunt.hcl pulumi.y*ml cdk.json serverless.* ansible.cfg behat.y*ml phpunit.xml*
    phpstan*.neon* artisan .php-cs-fixer* rector.php .rspec spec_helper.rb rails_helper.rb
    .simplecov .rubocop.y*ml .credo.exs .formatter.exs .golangci.* .goreleaser.y*ml buf.gen.y*ml
    codegen.y*ml .textlintrc* doit.cfg
    node_modules/ bower_components/ jspm_packages/ .pnpm-store/ .venv/ venv/ virtualenv/
    .virtualenv/
    site-packages/ dist-packages/ __pypackages__/ .tox/ .nox/ .pixi/ .conda/ pyvenv.cfg *.egg-link
    *.dist-info/ *.egg-info/ .eggs/ __pycache__/ *.pyc vendor/bundle/ vendor/bin/ vendor/composer/
    vendor/autoload.php ruff.toml .ruff.toml ty.toml uv.toml poetry.toml pixi.toml pipfile
    pyrefly.toml .pyre_configuration* .pydocstyle* .pycodestyle .pep8 .isort.cfg .bandit*
    .style.yapf
    .djlintrc .sqlfluff* pytest.*.ini tox.*.ini setuptools.cfg distutils.cfg pydistutils.cfg
    .pydistutils.cfg unittest.cfg nose.cfg .noserc nose2.cfg behave.ini .behaverc .testr.conf
    .stestr.conf environment.y*ml tslint.json .jshintrc .jscsrc .xo-config* .flowconfig
    .markdownlint* .remarkrc* .htmlhintrc .htmlvalidate* .lesshintrc .sass-lint.y*ml .solhint.json
    .solcover.js .depcheckrc* .dependency-cruiser* .size-limit* .taprc .avarc* .nodemonrc
    nodemon.json
    .storybook/ .umirc* .eleventy.js .ember-cli .testem* testem.* webpack.* rollup.* rspack.*
    jest-* karma.* nightwatch.* cucumber.js* setuptests.* test-setup.* tests.setup.* quasar.conf.*
    clippy.toml .clippy.toml rustfmt.toml .rustfmt.toml .clang-tidy .clang-format .cppcheck*
    .luacheckrc .luarc.json* selene.toml .busted .swiftlint.y*ml .swiftformat .scalafix.conf
    .scalafmt.conf detekt.y*ml checkstyle.xml .erb-lint.y*ml psalm.xml* ecs.php phpcs.xml*
    .phpcs.xml* .tflint.hcl .yamllint* .ansible-lint* .hadolint.y*ml .shellcheckrc .vale.ini
    .perlcriticrc .perltidyrc .proverc .ctags.d/ .ctags
""")

EXECUTED_LATER_AS_WRITTEN = frozenset({"BUILD", "WORKSPACE", "BUCK"})
"""In capitals only: in small letters these are everyday names of folders."""

_WORDS = (
    r"(?:secrets?|credentials?|passwords?|passwd|passphrase|tokens?|priv(?:ate)?[_-]?key"
    r"|(?:api|access|secret|deploy)[_-]keys?|apikeys?)"
)
_KINDS = r"\.(?:json[5c]?|y[^/]*ml|toml|ini|cfg|conf|txt|xml|properties|env|csv|enc|plist)"
_DATA_NAME = rf"(?:^|[/_-]){_WORDS}(?:{_KINDS})?$|\.{_WORDS}{_KINDS}$"
_SECRET = f"""
    {_ENV_FILES} *.pem *.key *.p12 *.pfx *.p8 *.pk8 *.pkcs12 *.pkcs8 *.der *.jks *_rsa *-rsa *_dsa
    *_ecdsa *-ecdsa *_ed25519 *-ed25519 *_deploy_key ssh_host_*_key *.psafe3 *.agilekeychain/
    *.opvault/ *.kwallet .databrickscfg .snowsql/ .oci/ .terraform.d/ .sentryclirc .passwd
    *.keystore *.kdb *.kdbx *.ppk *.ovpn *.gpg *.pgp *.asc *.age *.agekey id_rsa* id_dsa*
    id_ecdsa* id_ed25519* id_xmss* .netrc _netrc .pgpass pgpass.conf .my.cnf .mylogin.cnf .npmrc
    .yarnrc.y*ml .pypirc .htpasswd htpasswd .git-credentials .gitconfig .credentials* .secrets*
    *.secret *.secrets *.credentials service-account*.json service_account*.json
    serviceaccount*.json client_secret*.json google-services.json
    application_default_credentials.json *.tfstate *.tfstate.* *.tfvars *.tfvars.json
    .terraformrc terraform.rc .vault-token .vault_pass* .boto .s3cfg .dockercfg
    .docker/config.json .kube/ kubeconfig* *.kubeconfig .aws/ .ssh/ .gnupg/ .azure/
    .config/gcloud/ .config/gh/ .config/hub .password-store/ .pki/ .mozilla/
    .config/google-chrome/ *.keychain* login.keyring .*_history .lesshst .viminfo auth.json
    .token *.token shadow master.key wp-config.php local.settings.json usersecrets/ .secrets/
    *.mobileprovision *.snk *.jceks ngrok.y*ml .rclone.conf rclone.conf .cargo/credentials*
    .gem/credentials .m2/settings.xml .composer/auth.json .codex/auth.json .claude.json .wgetrc
    .curlrc .authinfo* .mailrc .msmtprc
"""
SECRET = re.compile(f"{compiled(_SECRET).pattern}|{_DATA_NAME}")

NOT_SECRET = compiled("""
    .env*example .env*sample .env*template .env*dist .env*defaults .environment *.example *.sample
    *.template
    example.env sample.env template.env *.pub
""")
"""What stands under a secret's name on purpose, for everybody to read."""
