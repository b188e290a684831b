# The other scripts are what this file is about.
# ruff: noqa: RUF001
"""Announcements of work in other languages than English, and endings that only look like them."""

from __future__ import annotations

import pytest

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.verdicts import Nudge, Pass
from agent_ls.policies.gates.incomplete_action import IncompleteAction, phrases
from tests.policies.views import view_of

ANNOUNCED = {
    "de": """
Ich füge jetzt die fehlende Prüfung hinzu.
Als Erstes schaue ich mir den Code an.
Im nächsten Schritt werde ich die Tests schreiben.
Schauen wir uns die Datei an.
Okay, ich lese die Datei.
Ich werde jetzt die Datei anpassen.
Ich passe nun die Funktion `parse` an.
Ich schaue mir das jetzt genauer an.
Ich beginne jetzt mit der Umsetzung.
Nun führe ich die Tests aus:
Zuerst suche ich alle Aufrufe der Funktion.
Dann ersetze ich den alten Aufruf.
""",
    "fr": """
Je vais ajouter la vérification manquante.
Je m'en occupe tout de suite.
Passons à la mise en œuvre.
Je crée le fichier.
Maintenant je vais lancer les tests.
Je vais y remédier.
Je vais lire la configuration.
Maintenant, je corrige la fonction.
Ensuite, je vais exécuter les tests.
Je m'occupe de l'implémentation.
J'ai trouvé l'erreur. Je vais la corriger.
Laisse-moi chercher tous les appels.
""",
    "es": """
Voy a añadir la comprobación que falta.
Ahora mismo lo arreglo.
Primero, voy a mirar el código.
En el siguiente paso escribiré las pruebas.
Me pongo a ello.
Revisaré el archivo y luego corregiré el error.
Ahora voy a leer la configuración.
A continuación, corrijo la función.
Primero leeré el archivo `app.py`.
Vamos a implementar el analizador.
He encontrado el error. Voy a corregirlo.
Permíteme buscar todas las llamadas.
""",
    "pt": """
Vou adicionar a verificação que falta.
Vou fazer isso agora.
Criarei o arquivo.
Agora modificarei a função.
Irei corrigir o erro.
Vou executar os testes e ver o resultado.
Agora vou ler a configuração.
A seguir, corrijo a função.
Primeiro lerei o arquivo `app.py`.
Vamos implementar o analisador.
Encontrei o erro. Vou corrigi-lo agora.
Deixa eu procurar todas as chamadas.
""",
    "zh": """
我将添加缺少的检查。
现在我将更新文件。
接下来,我会编写测试。
我会先读取文件,然后修复错误。
好的,我马上处理。
接下来将运行测试。
让我先看一下配置。
我将读取 `app.py` 并修正错误。
我马上运行测试。
我需要更新导入语句。
让我检查所有的调用。
下一步，我将添加测试。
""",
    "ja": """
次のステップとしてテストを書きます。
今から実装を始めます。
まずはコードを見てみましょう。
では、早速取り掛かります。
まず設定ファイルを確認します。
次にテストを実行します。
それでは関数を修正していきます。
エラーを見つけました。これから修正します。
続いて、インポートを更新します。
今からテストを追加します。
引き続き、残りのファイルを変更します。
まず、`app.py` を読みましょう。
""",
    "ru": """
Сейчас добавлю недостающую проверку.
Я внесу изменения в файл.
Следующим шагом я напишу тесты.
Начну с чтения файла.
Я сейчас всё исправлю.
Я создам файл и добавлю тесты.
Я прочитаю конфигурацию.
Давайте сначала посмотрим на тесты.
Мне нужно проверить все вызовы.
Я нашёл ошибку. Сейчас исправлю её.
Я буду менять функцию `parse`.
Перехожу к следующему файлу.
""",
}
INNOCENT = {
    "de": """
Die Änderung ist umgesetzt.
Alle Tests sind grün.
Du kannst die Datei jetzt öffnen.
Ich brauche dafür deine Zustimmung.
Lass mich wissen, wenn du noch etwas brauchst.
Ich habe die Datei erstellt und werde nichts weiter ändern.
Zuerst lädt der Server die Einstellungen, dann startet er.
Die Funktion ist jetzt behoben und alle Tests laufen.
Fertig: Der Fehler wurde korrigiert.
Wenn du möchtest, kann ich auch die Dokumentation aktualisieren.
Die Funktion liest zuerst die Datei und gibt dann die Zeilen zurück.
Ich warte auf deine Bestätigung.
Ich werde jetzt die Datei anpassen. Erledigt: Die Datei wurde angepasst.
Dafür musst du nur `make test` ausführen.
""",
    "fr": """
La modification est en place.
Tous les tests sont verts.
Vous pouvez maintenant ouvrir le fichier.
J'ai besoin de votre accord.
N'hésitez pas à me dire si vous avez besoin d'autre chose.
Le serveur charge d'abord les paramètres, puis démarre.
Je suis prêt.
La fonction est maintenant corrigée et les tests passent.
C'est fait.
Si vous voulez, je peux aussi mettre à jour la documentation.
La fonction lit d'abord le fichier, puis renvoie les lignes.
J'attends votre confirmation.
Je vais modifier le fichier. Terminé : le fichier a été modifié.
Il suffit de lancer `make test`.
""",
    "es": """
El cambio está hecho.
Todas las pruebas están en verde.
Ahora puedes abrir el archivo.
Necesito tu permiso para esto.
Avísame si necesitas algo más.
El servidor primero carga la configuración y después arranca.
He creado el archivo y lo he probado.
La función está corregida y las pruebas pasan.
Listo.
Si quieres, puedo actualizar también la documentación.
La función lee primero el archivo y luego devuelve las líneas.
Espero tu confirmación.
Voy a modificar el archivo. Hecho: el archivo ha sido modificado.
Solo tienes que ejecutar `make test`.
""",
    "pt": """
A alteração está feita.
Todos os testes estão verdes.
Agora você pode abrir o arquivo.
Preciso da sua permissão para isso.
Avise-me se precisar de mais alguma coisa.
O servidor primeiro carrega a configuração e depois inicia.
Criei o arquivo e testei.
A função está corrigida e os testes passam.
Pronto.
Se quiser, posso atualizar também a documentação.
A função lê primeiro o arquivo e depois devolve as linhas.
Aguardo a sua confirmação.
Vou alterar o arquivo. Feito: o arquivo foi alterado.
Basta executar `make test`.
""",
    "zh": """
修改已经完成。
所有测试都是绿色的。
你现在可以打开文件。
我需要您的同意。
如果还有其他需要,请告诉我。
服务器首先加载配置,然后启动。
我创建了文件并进行了测试。
函数已修复，所有测试都通过了。
完成。
如果你愿意，我可以更新文档。
这个函数先读取文件，然后返回每一行。
我在等待您的确认。
我来修改这个文件。已经修改完成。
你只需要运行 `make test`。
""",
    "ja": """
変更が完了しました。
テストはすべて緑です。
ファイルを開くことができます。
これには許可が必要です。
他に必要なことがあればお知らせください。
サーバーはまず設定を読み込み、その後起動します。
ファイルを作成し、テストしました。
関数は修正済みで、テストはすべて通っています。
完了しました。
ご希望でしたら、ドキュメントも更新できます。
この関数はまずファイルを読み込み、次に行を返します。
ご確認をお待ちしています。
これからファイルを修正します。修正が完了しました。
`make test` を実行してください。
""",
    "ru": """
Изменение внесено.
Все тесты зелёные.
Теперь вы можете открыть файл.
Мне нужно ваше согласие.
Дайте знать, если понадобится что-то ещё.
Сервер сначала загружает настройки, потом запускается.
Я создал файл и проверил его.
Функция исправлена, все тесты проходят.
Готово.
Если хотите, я могу обновить и документацию.
Функция сначала читает файл, а затем возвращает строки.
Жду вашего подтверждения.
Сейчас исправлю файл. Готово: файл исправлен.
Достаточно запустить `make test`.
""",
}


async def check(text: str, verdict: type[Nudge | Pass]) -> None:
    """Judge an answer that ends with the text."""
    for answer in (text, f"`parse` (a.py:3).\n\n{text}"):
        found = await IncompleteAction().judge(AssistantMessage(text=answer), view_of())
        assert isinstance(found, verdict), (answer, found)


def lines(table: dict[str, str]) -> list[object]:
    return [
        pytest.param(line, id=f"{language}-{line}")
        for language, text in table.items()
        for line in text.strip().splitlines()
    ]


def test_each_language_has_both_lists() -> None:
    assert set(ANNOUNCED) == set(INNOCENT) == phrases().keys() - {"en"}


@pytest.mark.parametrize("text", lines(ANNOUNCED))
async def test_an_announcement_without_a_call_is_nudged(text: str) -> None:
    await check(text, Nudge)


@pytest.mark.parametrize("text", lines(INNOCENT))
async def test_reports_questions_and_explanations_are_left_alone(text: str) -> None:
    await check(text, Pass)


async def test_what_the_person_reads_of_a_nudge_is_not_said_to_the_model() -> None:
    answer = AssistantMessage(text="I'll now fix it.")
    verdict = await IncompleteAction().judge(answer, view_of())
    assert isinstance(verdict, Nudge)
    assert verdict.shown == "The agent wrote “I'll now fix it.” and did nothing."
    assert "You wrote" in verdict.text
