" agent-ls in Vim 9 with ALE 3.3: the whole of it.
set hidden autoread
filetype plugin on
let g:ale_lsp_show_message_severity = 'info'
packadd! ale " as Debian has it; without this line if a plugin manager loads ALE

" The conversation lies in no project: the server that wrote it serves it.
function! s:Root(buffer) abort
  let l:git = finddir('.git', expand('#' . a:buffer . ':p:h') . ';')
  if bufname(a:buffer) !~# '\.agent-ls\.md$'
    let s:root = empty(l:git) ? getcwd() : fnamemodify(l:git, ':p:h:h')
  endif
  return get(s:, 'root', '')
endfunction

let s:linter = {'name': 'agent-ls', 'lsp': 'stdio', 'executable': 'agent-ls',
  \ 'command': '%e serve', 'project_root': function('s:Root')}
let g:ale_linters = get(g:, 'ale_linters', {})
for s:type in ['python', 'markdown']
  call ale#linter#Define(s:type, s:linter)
  let g:ale_linters[s:type] = get(g:ale_linters, s:type, []) + ['agent-ls']
endfor

function! s:Ask(method, params, Use) abort
  " What was typed just now, first. ALE takes edits only after this was said or its menu was used.
  let l:connection = 'agent-ls:' . s:Root(bufnr(''))
  call ale#lsp#NotifyForChanges(l:connection, bufnr(''))
  call ale#lsp#RegisterCallback(l:connection, 'ale#codefix#HandleLSPResponse')
  call ale#lsp_linter#SendRequest(bufnr(''), 'agent-ls', [0, a:method, a:params], a:Use)
endfunction
function! s:Run(command, arguments, ...) abort
  let l:Use = a:0 ? a:1 : {result -> 0}
  call s:Ask('workspace/executeCommand',
    \ {'command': 'agent-ls.' . a:command, 'arguments': a:arguments},
    \ {answer -> has_key(answer, 'error') ? execute('echo answer.error.message', '')
    \   : l:Use(answer.result)})
endfunction
" Takes the first code action on this line with this command, and this choice if one is named.
function! s:Act(command, choice, more) abort
  let l:at = {'line': line('.') - 1, 'character': 0}
  call s:Ask('textDocument/codeAction', {'textDocument': {'uri': s:Here().uri},
    \ 'range': {'start': l:at, 'end': l:at}, 'context': {'diagnostics': []}},
    \ function('s:Take', [a:command, a:choice, a:more]))
endfunction
function! s:Take(command, choice, more, answer) abort
  for l:action in a:answer.result
    let l:given = get(get(l:action.command, 'arguments', []), 0, {})
    if l:action.command.command is# 'agent-ls.' . a:command
      \ && (empty(a:choice) || get(l:given, 'choice', '') is# a:choice)
      return s:Run(a:command, [extend(copy(l:given), a:more)])
    endif
  endfor
  echo 'Nothing here for agent-ls.' . a:command
endfunction
function! s:Here() abort
  return {'uri': ale#path#ToFileURI(expand('%:p')), 'line': line('.') - 1}
endfunction
function! s:Words(prompt, Use) abort
  let l:words = input(a:prompt)
  if !empty(l:words) | call a:Use(l:words) | endif
endfunction
function! s:Prompt(place) abort
  call s:Words('Agent: ', {words -> s:Run('prompt', [{'text': words, 'anchor': a:place}])})
endfunction
function! s:Send() abort
  silent write!
  call s:Run('conversation.send', [])
endfunction

nnoremap <leader>aa <Cmd>ALECodeAction<CR>
nnoremap <leader>ar <Cmd>call <SID>Act('prompt', '', {})<CR>
" About the line of the cursor, or about the selected lines.
nnoremap <leader>ap <Cmd>call <SID>Prompt(<SID>Here())<CR>
xnoremap <leader>ap <Esc><Cmd>call <SID>Prompt(extend(<SID>Here(),
  \ {'line': line("'<") - 1, 'lastLine': line("'>") - 1}))<CR>
nnoremap <leader>at <Cmd>call <SID>Words('Tell the agent: ', {words -> <SID>Run('steer', [words])})<CR>
nnoremap <leader>ad <Cmd>ALEDetail<CR>
nnoremap <leader>ay <Cmd>call <SID>Act('approval.resolve', 'allow_once', {})<CR>
nnoremap <leader>aY <Cmd>call <SID>Act('approval.resolve', 'allow_session', {})<CR>
nnoremap <leader>an <Cmd>call <SID>Words('No, because: ',
  \ {words -> <SID>Act('approval.resolve', 'reject_once', {'note': words})})<CR>
nnoremap <leader>aw <Cmd>call <SID>Words('Answer: ', {words -> <SID>Run('question.resolve', [{'text': words}])})<CR>
nnoremap <leader>ak <Cmd>call <SID>Run('review.keep', ['all'])<CR>
nnoremap <leader>au <Cmd>call <SID>Run('review.undo', [<SID>Here()])<CR>
nnoremap <leader>as <Cmd>call <SID>Run('stop', [])<CR>
nnoremap <leader>ag <Cmd>call <SID>Run('session.resume', [])<CR>
nnoremap <leader>aG <Cmd>call <SID>Run('session.decline', [])<CR>
nnoremap <leader>aT <Cmd>call <SID>Run('trust', [])<CR>
nnoremap <leader>ac <Cmd>call <SID>Run('conversation', [],
  \ {path -> execute('edit ' . fnameescape(path) . ' \| normal! G')})<CR>

augroup agent_ls
  autocmd!
  autocmd BufRead *.agent-ls.md nnoremap <buffer> <C-s> <Cmd>call <SID>Send()<CR>
  autocmd BufRead *.agent-ls.md inoremap <buffer> <C-s> <Esc><Cmd>call <SID>Send()<CR>
augroup END
" An edit of the agent is told to the server also when no key follows, which is when Vim notices it.
" The conversation is followed while you have written nothing in it that is unsaved.
function! s:Follow(timer) abort
  if bufname() =~# '\.agent-ls\.md$'
    if !&modified | silent! checktime % | endif
  elseif has_key(g:ale_linters, &filetype)
    call ale#lsp#NotifyForChanges('agent-ls:' . s:Root(bufnr('')), bufnr(''))
  endif
endfunction
call timer_start(500, function('s:Follow'), {'repeat': -1})
