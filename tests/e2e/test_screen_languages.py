"""The same flow in each language: a question, a failure, the help; the model's texts stay what they are."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import Program
from e2e.screens import at_prompt


@pytest.mark.parametrize(
    ("language", "columns"),
    [
        ("en", 40),
        *(
            pytest.param(language, columns, marks=pytest.mark.release)
            for language, columns in (("ja", 40), ("ko", 40), ("zh-CN", 80), ("zh-TW", 200))
        ),
    ],
)
def test_a_turn_and_the_help(short_program: Program, panes: Panes, language: str, columns: int) -> None:
    root = short_program.root
    short_program.settle('{"tools": {"sandbox": "off"}}')  # which one there is differs by machine
    (root / "設定.py").write_text("x = 1\n")
    calls = [
        call("read_file", path=str(root / "없다.txt")),
        call("write_file", file_path=str(root / "新しい.txt"), content="一\n二\n"),
        call("run_shell_command", command="seq 30; exit 3", description="数える"),
    ]

    def answer(request: GeminiRequest) -> Turn:
        return Turn(text="Over.") if request.responses else Turn(text="I begin.", calls=calls)

    with FakeGemini(answer) as server:
        pane = panes(short_program, server, "--lang", language, columns=columns, rows=50, NO_COLOR="1")
        pane.say("go")
        pane.until("(s)")
        pane.keys("n")
        pane.until(lambda text: "seq 30" in text and "(s)" in text.rpartition("seq 30")[2])
        asked = pane.since("› go")
        pane.keys("y")
        pane.until("Over.")
        pane.until(at_prompt)
        pane.say("/mode auto_edit")
        pane.until(lambda text: text.rstrip().endswith("auto_edit"))
        pane.say("/help")
        pane.until("@path")
        pane.until(at_prompt)
        done = pane.since("Over.")
    assert (asked, done) == snapshot(
        {
            "en": (
                """\
› go

I begin.
✗ ReadFile  없다.txt  (/open 1)
  It wasn't found.

? Create 新しい.txt?
1 +一
2 +二
  No.
■ WriteFile  新しい.txt
  · declined, nothing was written

? Run this command?
seq 30; exit 3
in /tmp/dogu-project
数える
No sandbox: it can change and reach
whatever you can.

❯ 1. Yes (y)
  2. Always (a)
     `seq` with any arguments, `exit`
     with any arguments, in this
     folder from now on
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                """\
Over.

› /mode auto_edit

Approval mode: auto_edit

› /help

  /help
      show help
  /tools
      show the model's tools
  /mode [MODE]
      show or set the approval mode:
      default, auto_edit, plan, yolo
  /model [NAME]
      show or change the model
  /connect
      connect a model: a key, or a
      server on this machine
  /init [WHAT MATTERS]
      have the model write an AGENTS.md
      for this folder
  /settings [KEY [VALUE]]
      show and change the settings
  /jobs [output PID | stop PID | keep
  PID]
      show background jobs
  /review [WHAT MATTERS]
      have the model review uncommitted
      changes
  /undo [CALL | FILE | to CALL | turn]
  [--preview] [--unsure] [--force]
      undo the last change
  /redo [CALL] [--unsure] [--force]
      redo what was undone
  /done
      what this session changed, by call
  /diff
      what this session changed, by file
  /rewind [TURN] [--keep-files]
  [--unsure] [--force]
      go back to before a turn:
      conversation and files
  /fork
      copy this session, to continue the
      copy later
  /memory [show | list | add TEXT |
  refresh]
      show what GEMINI.md and AGENTS.md
      tell the model; or remember
      something
  /compact [WHAT TO KEEP]
      summarize the older part of the
      conversation to free up context
  /stats
      show tokens, costs, calls and how
      full the context is
  /mcp [SERVER]
      show the MCP servers and what they
      offer
  /quit
      leave (also Ctrl-D)
  /open [NUMBER]
      show a folded result in full; the
      last one without a number
  /theme [dark | light]
      colors for a dark or a light
      background
  /keys
      show keyboard shortcuts
  /resume [ID]
      resume another session
  /new
      start a new session; this one is
      kept
  /clear
      clear the screen and start a new
      session
  /rename NAME
      name this session so that you find
      it again
  /export [FILE]
      save this session as a web page
  /add-dir FOLDER
      also work in another folder
  /trust yes | no
      trust this folder's settings and
      instructions, or don't
  /copy
      copy the last answer to the
      clipboard
  /agents [NUMBER]
      show the helpers that the model
      started
  @path
      reads a file into your prompt

›
  gemini-2.5-pro · auto_edit
""",
            ),
            "ja": (
                """\
› go

I begin.
✗ ReadFile  없다.txt  （/open 1）
  見つかりません。（not_found）

? 新しい.txt を作成しますか？
1 +一
2 +二
  いいえ。
■ WriteFile  新しい.txt
  · 拒否しました。何も書き込んでいません

? このコマンドを実行しますか？
seq 30; exit 3
場所: /tmp/dogu-project
数える
サンドボックスなし: 変更も接続も、ユー
ザーと同じ範囲で可能です。

❯ 1. はい (y)
  2. 常に許可 (a)
     引数を問わず `seq`、引数を問わず
     `exit`（今後このフォルダで）
  3. 編集して許可 (e)
  4. いいえ (n)
  5. いいえ（理由を伝える） (r)
  6. 停止 (s)
  ↑↓ 移動、Enter 決定、Esc キャンセル
›
  gemini-2.5-pro
""",
                """\
Over.

› /mode auto_edit

承認モード: auto_edit

› /help

  /help
      ヘルプを表示
  /tools
      モデルが使えるツールを表示
  /mode [MODE]
      承認モードの表示と設定: default、
      auto_edit、plan、yolo
  /model [NAME]
      モデルの表示と変更
  /connect
      モデルを接続する: キー、またはこの
      マシン上のサーバー
  /init [WHAT MATTERS]
      フォルダの内容をもとに、モデルが
      AGENTS.md を作成
  /settings [KEY [VALUE]]
      設定の表示と変更
  /jobs [output PID | stop PID | keep
  PID]
      バックグラウンドジョブの一覧
  /review [WHAT MATTERS]
      コミットしていない変更をモデルにレ
      ビューさせる
  /undo [CALL | FILE | to CALL | turn]
  [--preview] [--unsure] [--force]
      最後の変更を元に戻す
  /redo [CALL] [--unsure] [--force]
      元に戻した変更をやり直す
  /done
      このセッションの変更（呼び出しご
      と）
  /diff
      このセッションの変更（ファイルご
      と）
  /rewind [TURN] [--keep-files]
  [--unsure] [--force]
      会話とファイルをターンの前まで巻き
      戻す
  /fork
      あとで続けられるように、このセッ
      ションを複製
  /memory [show | list | add TEXT |
  refresh]
      GEMINI.md と AGENTS.md の内容を表
      示、または何かを記憶
  /compact [WHAT TO KEEP]
      古い会話を要約してコンテキストを空
      ける
  /stats
      トークン、費用、呼び出し、コンテキ
      ストの使用量を表示
  /mcp [SERVER]
      MCP サーバーとその機能を表示
  /quit
      終了（Ctrl-D でも可）
  /open [NUMBER]
      折りたたんだ結果を全文表示（番号省
      略時は直近）
  /theme [dark | light]
      暗い背景または明るい背景に合わせた
      色
  /keys
      キー操作の一覧
  /resume [ID]
      別のセッションを再開
  /new
      新しいセッションを始める（今のセッ
      ションは残る）
  /clear
      画面を消して新しいセッションを始め
      る
  /rename NAME
      後で見つけられるように、このセッ
      ションに名前を付ける
  /export [FILE]
      このセッションを Web ページとして
      保存
  /add-dir FOLDER
      別のフォルダでも作業する
  /trust yes | no
      このフォルダの設定と指示を信頼する
      かどうかを選ぶ
  /copy
      直近の回答をクリップボードにコピー
  /agents [NUMBER]
      モデルが起動したサブエージェントの
      一覧
  @path
      ファイルをプロンプトに読み込む

›
  gemini-2.5-pro · auto_edit
""",
            ),
            "ko": (
                """\
› go

I begin.
✗ ReadFile  없다.txt  (/open 1)
  찾을 수 없습니다. (not_found)

? 생성할까요? 新しい.txt
1 +一
2 +二
  아니요.
■ WriteFile  新しい.txt
  · 거부됨, 아무것도 쓰지 않음

? 이 명령을 실행할까요?
seq 30; exit 3
폴더: /tmp/dogu-project
数える
샌드박스 없음: 사용자가 할 수 있는 모든
변경과 접근이 가능합니다.

❯ 1. 예 (y)
  2. 항상 (a)
     `seq`(인수는 무엇이든),
     `exit`(인수는 무엇이든), 이
     폴더에서 앞으로 계속
  3. 편집 후 승인 (e)
  4. 아니요 (n)
  5. 아니요, 이유 전달 (r)
  6. 중지 (s)
  ↑↓ 이동, Enter 선택, Esc 취소
›
  gemini-2.5-pro
""",
                """\
Over.

› /mode auto_edit

승인 모드: auto_edit

› /help

  /help
      도움말 표시
  /tools
      모델이 사용할 수 있는 도구 표시
  /mode [MODE]
      승인 모드 표시 또는 설정: default,
      auto_edit, plan, yolo
  /model [NAME]
      모델 표시 또는 변경
  /connect
      모델 연결: 키 또는 이 컴퓨터의
      서버
  /init [WHAT MATTERS]
      모델이 이 폴더를 살펴보고
      AGENTS.md 작성
  /settings [KEY [VALUE]]
      설정 표시와 변경
  /jobs [output PID | stop PID | keep
  PID]
      백그라운드 작업 보기
  /review [WHAT MATTERS]
      커밋하지 않은 변경 사항을 모델이
      검토
  /undo [CALL | FILE | to CALL | turn]
  [--preview] [--unsure] [--force]
      마지막 변경 되돌리기
  /redo [CALL] [--unsure] [--force]
      되돌린 변경 다시 실행
  /done
      이 세션의 변경 사항(호출별)
  /diff
      이 세션의 변경 사항(파일별)
  /rewind [TURN] [--keep-files]
  [--unsure] [--force]
      턴 이전으로 되감기(대화와 파일)
  /fork
      나중에 이어서 할 수 있도록 이 세션
      복사
  /memory [show | list | add TEXT |
  refresh]
      GEMINI.md와 AGENTS.md의 내용 표시,
      또는 기억할 내용 저장
  /compact [WHAT TO KEEP]
      오래된 대화를 요약해 컨텍스트 확보
  /stats
      토큰, 비용, 호출, 컨텍스트 사용량
      표시
  /mcp [SERVER]
      MCP 서버와 제공하는 기능 표시
  /quit
      종료(Ctrl-D도 가능)
  /open [NUMBER]
      접힌 결과 전부 표시. 번호가 없으면
      마지막 결과
  /theme [dark | light]
      어두운 배경이나 밝은 배경에 맞는
      색
  /keys
      단축키 표시
  /resume [ID]
      다른 세션 이어서 하기
  /new
      새 세션 시작(이 세션은 보관됨)
  /clear
      빈 화면에서 새 세션 시작
  /rename NAME
      다시 찾을 수 있도록 이 세션에 이름
      붙이기
  /export [FILE]
      이 세션을 웹 페이지로 저장
  /add-dir FOLDER
      다른 폴더에서도 작업
  /trust yes | no
      이 폴더의 설정과 지침을 신뢰할지
      선택
  /copy
      마지막 답변을 클립보드에 복사
  /agents [NUMBER]
      모델이 시작한 하위 에이전트 보기
  @path
      파일을 프롬프트로 읽어 오기

›
  gemini-2.5-pro · auto_edit
""",
            ),
            "zh-CN": (
                """\
› go

I begin.
✗ ReadFile  없다.txt  （/open 1）
  未找到。（not_found）

? 创建 新しい.txt？
1 +一
2 +二
  否。
■ WriteFile  新しい.txt · 已拒绝，没有写入任何内容

? 运行此命令吗？
seq 30; exit 3
位于 /tmp/dogu-project
数える
无沙箱：凡是你能更改和访问的，它都能更改和访问。

❯ 1. 是 (y)
  2. 始终允许 (a)  `seq`（参数不限）、`exit`（参数不限），今后在此文件夹中
  3. 编辑后批准 (e)
  4. 否 (n)
  5. 否，并说明原因 (r)
  6. 停止 (s)
  ↑↓ 移动，回车选择，Esc 取消
›
  gemini-2.5-pro
""",
                """\
Over.

› /mode auto_edit

批准模式：auto_edit

› /help

  /help                       显示帮助
  /tools                      显示模型可用的工具
  /mode [MODE]                显示或设置批准模式：default、auto_edit、plan、yolo
  /model [NAME]               显示或更换模型
  /connect                    连接模型：用密钥，或用本机上的服务器
  /init [WHAT MATTERS]        让模型根据此文件夹的内容编写 AGENTS.md
  /settings [KEY [VALUE]]     显示和更改设置
  /jobs [output PID | stop PID | keep PID]
                              查看后台任务
  /review [WHAT MATTERS]      让模型审查尚未提交的更改
  /undo [CALL | FILE | to CALL | turn] [--preview] [--unsure] [--force]
                              撤销最后一次更改
  /redo [CALL] [--unsure] [--force]
                              重做被撤销的更改
  /done                       本次会话的更改，按调用列出
  /diff                       本次会话的更改，按文件列出
  /rewind [TURN] [--keep-files] [--unsure] [--force]
                              回退到某一轮之前：对话和文件
  /fork                       复制此会话，以便之后继续
  /memory [show | list | add TEXT | refresh]
                              显示 GEMINI.md 和 AGENTS.md 告诉模型的内容，或记住
                              某事
  /compact [WHAT TO KEEP]     将较早的对话压缩成摘要，释放上下文
  /stats                      显示 token、费用、调用和上下文用量
  /mcp [SERVER]               显示 MCP 服务器及其提供的内容
  /quit                       退出（Ctrl-D 也可以）
  /open [NUMBER]              完整显示折叠的结果；不带编号时显示最后一个
  /theme [dark | light]       适合深色或浅色背景的颜色
  /keys                       显示快捷键
  /resume [ID]                恢复另一个会话
  /new                        开始新会话；当前会话会保留
  /clear                      清屏并开始新会话
  /rename NAME                为此会话命名，便于以后查找
  /export [FILE]              将此会话保存为网页
  /add-dir FOLDER             也在另一个文件夹中工作
  /trust yes | no             选择是否信任此文件夹的设置和指令
  /copy                       将上一条回答复制到剪贴板
  /agents [NUMBER]            查看模型派出的子智能体
  @path                       把文件读入提示词

›
  gemini-2.5-pro · auto_edit
""",
            ),
            "zh-TW": (
                """\
› go

I begin.
✗ ReadFile  없다.txt  （/open 1）
  找不到。（not_found）

? 要建立 新しい.txt 嗎？
1 +一
2 +二
  否。
■ WriteFile  新しい.txt · 已拒絕，沒有寫入任何內容

? 要執行這個指令嗎？
seq 30; exit 3
位置：/tmp/dogu-project
数える
沒有沙箱：你能變更和連線的，它都可以。

❯ 1. 是 (y)
  2. 一律允許 (a)  `seq`（引數不限）、`exit`（引數不限），今後在這個資料夾中
  3. 編輯後核准 (e)
  4. 否 (n)
  5. 否，並說明原因 (r)
  6. 停止 (s)
  ↑↓ 移動，Enter 選取，Esc 取消
›
  gemini-2.5-pro
""",
                """\
Over.

› /mode auto_edit

核准模式：auto_edit

› /help

  /help                       顯示說明
  /tools                      顯示模型可用的工具
  /mode [MODE]                顯示或設定核准模式：default、auto_edit、plan、yolo
  /model [NAME]               顯示或更換模型
  /connect                    連接模型：金鑰，或這台電腦上的伺服器
  /init [WHAT MATTERS]        請模型依這個資料夾的內容撰寫 AGENTS.md
  /settings [KEY [VALUE]]     顯示和變更設定
  /jobs [output PID | stop PID | keep PID]
                              查看背景工作
  /review [WHAT MATTERS]      讓模型審查尚未提交的變更
  /undo [CALL | FILE | to CALL | turn] [--preview] [--unsure] [--force]
                              復原最後一次變更
  /redo [CALL] [--unsure] [--force]
                              重做剛才復原的變更
  /done                       這個工作階段的變更，依呼叫列出
  /diff                       這個工作階段的變更，依檔案列出
  /rewind [TURN] [--keep-files] [--unsure] [--force]
                              回溯到某個回合之前：對話和檔案
  /fork                       複製這個工作階段，之後可繼續
  /memory [show | list | add TEXT | refresh]
                              顯示 GEMINI.md 和 AGENTS.md，或記住某事
  /compact [WHAT TO KEEP]     將較早的對話做成摘要，釋出上下文空間
  /stats                      顯示 token、費用、呼叫與上下文用量
  /mcp [SERVER]               顯示 MCP 伺服器及其提供的功能
  /quit                       離開（Ctrl-D 也可以）
  /open [NUMBER]              完整顯示摺疊的結果；不加數字則顯示最後一個
  /theme [dark | light]       適合深色或淺色背景的色彩
  /keys                       顯示快速鍵
  /resume [ID]                接續另一個工作階段
  /new                        開始新的工作階段；目前的會保留
  /clear                      清空畫面，開始新的工作階段
  /rename NAME                為這個工作階段命名，方便日後尋找
  /export [FILE]              把這個工作階段儲存為網頁
  /add-dir FOLDER             也在另一個資料夾中工作
  /trust yes | no             選擇是否信任這個資料夾的設定和指示
  /copy                       把最後的回答複製到剪貼簿
  /agents [NUMBER]            查看模型派出的子代理
  @path                       把檔案讀入提示詞

›
  gemini-2.5-pro · auto_edit
""",
            ),
        }
    )[language]
