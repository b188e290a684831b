# ruff: noqa: RUF001
"""Announcements of work in other languages than English, and endings that only look like them."""

from __future__ import annotations

import pytest

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.verdicts import Nudge, Pass
from agent_ls.loop.announcements import LANGUAGES
from agent_ls.policies.gates.incomplete_action import IncompleteAction
from tests.policies.views import view_of

ANNOUNCED = {
    "de": """
Ich füge jetzt die fehlende Prüfung hinzu.
Ich werde nun mit der Implementierung beginnen.
Als Erstes schaue ich mir den Code an.
Ich mache mich jetzt an die Arbeit.
Im nächsten Schritt werde ich die Tests schreiben.
Ich werde das gleich umsetzen.
Schauen wir uns die Datei an.
Ich erstelle die Datei.
Okay, ich lese die Datei.
Jetzt werde ich die Datei speichern.
Ich werde jetzt die Datei anpassen.
Als Nächstes lese ich die Konfiguration.
Ich passe nun die Funktion `parse` an.
Lass mich zuerst die Tests ansehen.
Ich schaue mir das jetzt genauer an.
Jetzt implementiere ich den Parser.
Ich beginne jetzt mit der Umsetzung.
Ich habe den Fehler gefunden. Ich werde ihn jetzt beheben.
Nun führe ich die Tests aus:
Ich muss noch die Importe aktualisieren.
Zuerst suche ich alle Aufrufe der Funktion.
Ich werde die Datei `src/app.py` lesen und den Fehler korrigieren.
Dann ersetze ich den alten Aufruf.
Lassen Sie mich die Abhängigkeiten prüfen.
""",
    "fr": """
Je vais ajouter la vérification manquante.
Je m'en occupe tout de suite.
Je regarde le fichier maintenant.
Passons à la mise en œuvre.
Prochaine étape : je vais écrire les tests.
Je crée le fichier.
Allons-y, je modifie la fonction.
Maintenant je vais lancer les tests.
D'abord, je vais examiner le code.
Je vais y remédier.
Je vais maintenant modifier le fichier.
Je vais lire la configuration.
Laissez-moi d'abord vérifier les tests.
Maintenant, je corrige la fonction.
Je commence par lire le fichier `app.py`.
Ensuite, je vais exécuter les tests.
Je dois encore mettre à jour les imports.
Je m'occupe de l'implémentation.
Commençons par regarder le code.
J'ai trouvé l'erreur. Je vais la corriger.
Je passe maintenant à la classe suivante.
Laisse-moi chercher tous les appels.
Je vais créer le nouveau module et ajouter des tests.
""",
    "es": """
Voy a añadir la comprobación que falta.
Ahora mismo lo arreglo.
Lo haré ahora.
Primero, voy a mirar el código.
Crearé el archivo.
En el siguiente paso escribiré las pruebas.
Ahora modificaré la función.
Me pongo a ello.
Comencemos por leer el archivo.
Revisaré el archivo y luego corregiré el error.
Voy a modificar el archivo.
Ahora voy a leer la configuración.
Déjame revisar primero las pruebas.
A continuación, corrijo la función.
Ahora ejecuto las pruebas.
Primero leeré el archivo `app.py`.
Necesito actualizar también los imports.
Vamos a implementar el analizador.
Procedo a crear el módulo.
He encontrado el error. Voy a corregirlo.
Actualizaré la configuración.
Permíteme buscar todas las llamadas.
Empezaré por revisar el código.
""",
    "pt": """
Vou adicionar a verificação que falta.
Vou fazer isso agora.
Primeiro, vou olhar o código.
Criarei o arquivo.
No próximo passo, escreverei os testes.
Agora modificarei a função.
Vamos começar lendo o arquivo.
Irei corrigir o erro.
Começarei pela leitura do arquivo.
Vou executar os testes e ver o resultado.
Vou modificar o arquivo.
Agora vou ler a configuração.
Deixe-me verificar primeiro os testes.
A seguir, corrijo a função.
Agora executo os testes.
Primeiro lerei o arquivo `app.py`.
Preciso atualizar também os imports.
Vamos implementar o analisador.
Passo a criar o módulo.
Encontrei o erro. Vou corrigi-lo agora.
Atualizarei a configuração.
Deixa eu procurar todas as chamadas.
Vou começar por rever o código.
""",
    "zh": """
我将添加缺少的检查。
现在我将更新文件。
我来看看代码。
接下来,我会编写测试。
让我修改这个函数。
我会先读取文件,然后修复错误。
下面我开始修改。
好的,我马上处理。
我现在就去修复。
接下来将运行测试。
我现在来修改这个文件。
让我先看一下配置。
接下来我会修复这个函数。
我将读取 `app.py` 并修正错误。
现在开始实现解析器。
我马上运行测试。
首先，我来检查一下代码。
我需要更新导入语句。
我找到了错误。我来修复它。
让我检查所有的调用。
我会创建一个新的模块。
下一步，我将添加测试。
继续处理其余的文件。
""",
    "ja": """
次のステップとしてテストを書きます。
今から実装を始めます。
それでは作業を開始します。
まずはコードを見てみましょう。
では、早速取り掛かります。
これからファイルを修正します。
まず設定ファイルを確認します。
次にテストを実行します。
では、パーサーを実装します。
それでは関数を修正していきます。
エラーを見つけました。これから修正します。
早速コードを確認してみます。
続いて、インポートを更新します。
今からテストを追加します。
すべての呼び出しを調べてみます。
引き続き、残りのファイルを変更します。
まず、`app.py` を読みましょう。
先にテストを見てみます。
""",
    "ru": """
Сейчас добавлю недостающую проверку.
Я внесу изменения в файл.
Сначала посмотрю код.
Следующим шагом я напишу тесты.
Теперь я изменю функцию.
Начну с чтения файла.
Я собираюсь исправить ошибку.
Я сейчас всё исправлю.
Давайте начнём с чтения файла.
Я создам файл и добавлю тесты.
Сейчас я исправлю файл.
Я прочитаю конфигурацию.
Теперь запущу тесты.
Давайте сначала посмотрим на тесты.
Далее я обновлю импорты.
Мне нужно проверить все вызовы.
Приступаю к реализации.
Я нашёл ошибку. Сейчас исправлю её.
Сначала я изучу код.
Я буду менять функцию `parse`.
Затем добавлю тесты.
Перехожу к следующему файлу.
Давай я проверю конфигурацию.
""",
}
INNOCENT = {
    "de": """
Die Änderung ist umgesetzt.
Alle Tests sind grün.
Welche Variante bevorzugst du?
Du kannst die Datei jetzt öffnen.
Der Fehler lag in Zeile 3, die Funktion gab None zurück.
Ich brauche dafür deine Zustimmung.
Ich konnte die Datei nicht finden.
Lass mich wissen, wenn du noch etwas brauchst.
Bitte bestätige, dann lösche ich die Datei.
Ich habe die Datei erstellt und werde nichts weiter ändern.
Dann ruft sie `parse` auf und speichert das Ergebnis.
Zuerst lädt der Server die Einstellungen, dann startet er.
Ich habe die Datei angepasst.
Die Funktion ist jetzt behoben und alle Tests laufen.
Fertig: Der Fehler wurde korrigiert.
Soll ich jetzt die Tests anpassen?
Wenn du möchtest, kann ich auch die Dokumentation aktualisieren.
Sag mir bitte Bescheid, ob ich die Datei löschen soll.
Die Funktion liest zuerst die Datei und gibt dann die Zeilen zurück.
Ich werde nichts ändern, bis du zustimmst.
Ich warte auf deine Bestätigung.
Der Parser wird beim Start aufgerufen und prüft jede Zeile.
Ich werde jetzt die Datei anpassen. Erledigt: Die Datei wurde angepasst.
Sobald du zustimmst, lösche ich die Datei.
Dafür musst du nur `make test` ausführen.
Es gibt nichts mehr zu tun.
""",
    "fr": """
La modification est en place.
Tous les tests sont verts.
Quelle variante préférez-vous ?
Vous pouvez maintenant ouvrir le fichier.
L'erreur venait de la ligne 3.
J'ai besoin de votre accord.
Je n'ai pas trouvé le fichier.
N'hésitez pas à me dire si vous avez besoin d'autre chose.
Ensuite, elle appelle `parse` et enregistre le résultat.
Le serveur charge d'abord les paramètres, puis démarre.
Merci de confirmer avant que je supprime le fichier.
Je suis prêt.
J'ai modifié le fichier.
La fonction est maintenant corrigée et les tests passent.
C'est fait.
Voulez-vous que je modifie aussi les tests ?
Si vous voulez, je peux aussi mettre à jour la documentation.
Dites-moi si je dois supprimer le fichier.
La fonction lit d'abord le fichier, puis renvoie les lignes.
Je ne vais rien modifier sans votre accord.
J'attends votre confirmation.
L'analyseur est appelé au démarrage et vérifie chaque ligne.
Je vais modifier le fichier. Terminé : le fichier a été modifié.
Dès que vous confirmez, je supprime le fichier.
Il suffit de lancer `make test`.
Il n'y a rien d'autre à faire.
""",
    "es": """
El cambio está hecho.
Todas las pruebas están en verde.
¿Qué variante prefieres?
Ahora puedes abrir el archivo.
El error estaba en la línea 3.
Necesito tu permiso para esto.
No encontré el archivo.
Avísame si necesitas algo más.
Luego llama a `parse` y guarda el resultado.
El servidor primero carga la configuración y después arranca.
Por favor, confirma antes de que borre el archivo.
He creado el archivo y lo he probado.
He modificado el archivo.
La función está corregida y las pruebas pasan.
Listo.
¿Quieres que modifique también las pruebas?
Si quieres, puedo actualizar también la documentación.
Dime si debo borrar el archivo.
La función lee primero el archivo y luego devuelve las líneas.
No voy a cambiar nada sin tu permiso.
Espero tu confirmación.
El analizador se llama al inicio y comprueba cada línea.
Voy a modificar el archivo. Hecho: el archivo ha sido modificado.
Cuando me confirmes, borro el archivo.
Solo tienes que ejecutar `make test`.
No queda nada por hacer.
""",
    "pt": """
A alteração está feita.
Todos os testes estão verdes.
Qual variante prefere?
Agora você pode abrir o arquivo.
O erro estava na linha 3.
Preciso da sua permissão para isso.
Não encontrei o arquivo.
Avise-me se precisar de mais alguma coisa.
Depois chama `parse` e guarda o resultado.
O servidor primeiro carrega a configuração e depois inicia.
Por favor, confirme antes que eu apague o arquivo.
Criei o arquivo e testei.
Alterei o arquivo.
A função está corrigida e os testes passam.
Pronto.
Quer que eu altere também os testes?
Se quiser, posso atualizar também a documentação.
Diga-me se devo apagar o arquivo.
A função lê primeiro o arquivo e depois devolve as linhas.
Não vou mudar nada sem a sua permissão.
Aguardo a sua confirmação.
O analisador é chamado no início e verifica cada linha.
Vou alterar o arquivo. Feito: o arquivo foi alterado.
Assim que você confirmar, apago o arquivo.
Basta executar `make test`.
Não há mais nada a fazer.
""",
    "zh": """
修改已经完成。
所有测试都是绿色的。
你喜欢哪个方案?
你现在可以打开文件。
错误在第3行。
我需要您的同意。
我没有找到这个文件。
如果还有其他需要,请告诉我。
然后它调用 `parse` 并保存结果。
服务器首先加载配置,然后启动。
请确认后我再删除文件。
我创建了文件并进行了测试。
我已经修改了这个文件。
函数已修复，所有测试都通过了。
完成。
需要我也更新测试吗？
如果你愿意，我可以更新文档。
请告诉我是否要删除这个文件。
这个函数先读取文件，然后返回每一行。
我不会在你同意之前修改任何内容。
我在等待您的确认。
解析器在启动时被调用，并检查每一行。
我来修改这个文件。已经修改完成。
等你确认后，我会删除这个文件。
你只需要运行 `make test`。
没有其他需要做的事情。
""",
    "ja": """
変更が完了しました。
テストはすべて緑です。
どちらの案がよいですか?
ファイルを開くことができます。
エラーは3行目にありました。
これには許可が必要です。
ファイルが見つかりませんでした。
他に必要なことがあればお知らせください。
その後 `parse` を呼び出して結果を保存します。
サーバーはまず設定を読み込み、その後起動します。
削除する前にご確認ください。
ファイルを作成し、テストしました。
ファイルを修正しました。
関数は修正済みで、テストはすべて通っています。
完了しました。
テストも更新しましょうか？
ご希望でしたら、ドキュメントも更新できます。
ファイルを削除してよいか教えてください。
この関数はまずファイルを読み込み、次に行を返します。
許可なしには何も変更しません。
ご確認をお待ちしています。
パーサーは起動時に呼び出され、各行を確認します。
これからファイルを修正します。修正が完了しました。
承認していただけたら、ファイルを削除します。
`make test` を実行してください。
これ以上の作業は不要です。
""",
    "ru": """
Изменение внесено.
Все тесты зелёные.
Какой вариант вы предпочитаете?
Теперь вы можете открыть файл.
Ошибка была в строке 3.
Мне нужно ваше согласие.
Я не нашёл файл.
Дайте знать, если понадобится что-то ещё.
Затем она вызывает `parse` и сохраняет результат.
Сервер сначала загружает настройки, потом запускается.
Пожалуйста, подтвердите, прежде чем я удалю файл.
Я создал файл и проверил его.
Я исправил файл.
Функция исправлена, все тесты проходят.
Готово.
Хотите, чтобы я обновил и тесты?
Если хотите, я могу обновить и документацию.
Скажите, нужно ли удалить файл.
Функция сначала читает файл, а затем возвращает строки.
Я не буду ничего менять без вашего согласия.
Жду вашего подтверждения.
Парсер вызывается при запуске и проверяет каждую строку.
Сейчас исправлю файл. Готово: файл исправлен.
Когда вы подтвердите, я удалю файл.
Достаточно запустить `make test`.
Больше ничего делать не нужно.
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
    assert set(ANNOUNCED) == set(INNOCENT) == set(LANGUAGES)
    assert all(len(one.split("\n")) >= 14 for one in (*ANNOUNCED.values(), *INNOCENT.values()))


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
