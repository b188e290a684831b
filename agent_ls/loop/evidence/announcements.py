# The other scripts are what this file is about.
# ruff: noqa: RUF001
"""Phrases with which models announce work, report it or hand over, in languages beside English.

Data only, one entry per language, read by the gate ``incomplete_action``. Doubtful phrases are left
out: a missed announcement costs a prompt, a wrong nudge costs the person's patience.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """One language's patterns, each matched within one sentence."""

    announces: re.Pattern[str]
    """The writer is about to do something."""
    settles: re.Pattern[str]
    """Something is done, it is the person's turn, or something else must happen first."""


def _language(announces: str, settles: str) -> Language:
    flags = re.IGNORECASE | re.VERBOSE
    return Language(re.compile(announces, flags), re.compile(settles, flags))


_DE_DO = r"""
    (?:les|änder|pass|erstell|schreib|füg|entfern|lösch|ersetz|prüf|überprüf|test|führ|start|beginn
    |implementier|korrigier|beheb|reparier|aktualisier|schau|such|untersuch|analysier|öffn
    |verschieb|benenn|refaktorier|bau|mach|setz|ergänz|installier|kümmer|fang|fahr|hol|bearbeit
    |nehm|verbesser|zeig|leg)(?:e|ere|le)?
"""
_RU_DO = r"""
    (?:прочита|прочт|исправл|измен|созда|добавл|удал|замен|провер|протестиру|запущ|запуст|начн|нач
    |реализу|обновл|посмотр|просмотр|поищ|найд|изуч|проанализиру|откро|переимену|перемещ|перепиш
    |напиш|внес|установл|займ|приступл|перейд|сдела|продолж|отредактиру)\w*[юу]\b|создам\b
"""

LANGUAGES = {
    "de": _language(
        rf"""
        \bwerde\ ich\b (?!.*\b(?:nicht|nichts|kein\w*)\b) .*\w+(?:en|ern|eln)\b
        | ^(?:(?:ok|okay|gut|alles\ klar|verstanden),?\ )*ich\ (?:lese|ändere|passe|erstelle
          |schreibe
          |füge|entferne|lösche|ersetze|prüfe|überprüfe|implementiere|korrigiere|behebe|repariere
          |aktualisiere|untersuche|analysiere|öffne|bearbeite|starte|beginne)\b
          (?!.*\b(?:nicht|nichts|kein\w*)\b)
        | ^(?:schauen|sehen|prüfen|beginnen|fangen)\ wir\b
        | \bich\ werde\b (?!.*\b(?:nicht|nichts|kein\w*)\b) (?:\W+[\w.`/"'-]+){{0,14}}?\W+\w+
          (?:en|ern|eln)\b
        | \bich\ {_DE_DO}\b (?!.*\b(?:nicht|nichts|kein\w*)\b)
          .*\b(?:jetzt|nun|zuerst|zunächst|gleich|sofort|direkt|dann|als\ nächstes|noch)\b
        | \b(?:jetzt|nun|zuerst|zunächst|dann|danach|anschließend|als\ nächstes|als\ erstes)\W+
          {_DE_DO}\ ich\b
        | \blass(?:t|en\ sie)?\ (?:mich|uns)\b (?!.*\bwissen\b) .*\w+(?:en|ern|eln)\b
        | \bich\ muss\ (?:noch|jetzt|nun|zuerst|zunächst|erst)\b.*\w+(?:en|ern|eln)\b
        | ^(?:ich\ )?(?:fahre|mache)\b.*\b(?:fort|weiter)\b | ^weiter\ (?:geht|mit)\b
        """,
        r"""
        \b(?:fertig|erledigt|abgeschlossen|umgesetzt|gespeichert|erfolgreich)\b
        | \b(?:habe|hat|haben|wurde|wurden|ist|sind)\b.*\b(?:ge\w+t|ge\w+en|\w+iert|er\w+t|be\w+n
          |ver\w+t|er\w+zt|über\w+t|ent\w+t|an\w*ge\w+|hinzu\w+|ange\w+|umbe\w+t)\b
        | \b(?:tests?|prüfungen)\ (?:laufen|bestehen|sind\ grün)\b | \bnichts\ (?:mehr\ )?zu\ tun\b
        | \?\W*$ | \b(?:wenn|falls|sobald|sofern|solange)\ (?:du|sie|ihr|das|es)\b
        | \bsoll(?:en)?\ (?:ich|wir)\b | \b(?:sag|sagen|gib|geben|teil|lass|lassen)\b.*\b(?:bescheid
          |wissen|mir)\b | \bbitte\b.*\b(?:bestätig|sag|gib|teil|wähl|prüf)\w* | \bwarte
        | \b(?:möchtest|möchten|willst|wollen)\ (?:du|sie)\b | \b(?:kann|könnte|würde)\ ich\b
        | \bich\ (?:kann|könnte|würde)\b
        """,
    ),
    "fr": _language(
        r"""
        \bje\ vais\b (?:\W+\w+){0,4}?\W+\w+(?:er|ir|re|oir)\b
        | \b(?:laissez|laisse)-moi\b.*\w+(?:er|ir|re|oir)\b
        | \b(?:maintenant|ensuite|d'abord|à\ présent|tout\ de\ suite)\W+je\W+(?!ne\b|n'|peux)
          (?:m'|me\ |vais\ )?\w+\b
        | \bje\ (?!ne\b|peux|suis) \w+\b.*\b(?:maintenant|tout\ de\ suite|d'abord|immédiatement)\b
        | \bje\ (?:commence|passe|procède|continue|m'occupe|m'en\ occupe|me\ mets)\b
        | ^(?:(?:ok|okay|d'accord|bien|très\ bien|parfait|alors|bon|allons-y|oui),?\ )*
          je\ (?:crée|modifie|corrige|lis|vérifie|ajoute|supprime|lance|exécute|écris
          |regarde|cherche|implémente|remplace|analyse|ouvre|mets\ à\ jour)\b
        | \bje\ dois\ (?:encore|d'abord|maintenant)\b.*\w+(?:er|ir|re|oir)\b
        | ^(?:commençons|passons|continuons|regardons|vérifions|voyons|procédons)\b
        """,
        r"""
        \b(?:terminé|fini|fait|prêt|réussi|achevé)e?s?\b
        | \b(?:j'ai|a\ été|ont\ été|est|sont|avons|a|ont)\W+(?:maintenant\ |bien\ |aussi\ |déjà\ )?
          \w+(?:é|ée|és|ées|i|is|it|u|us)\b
        | \btests?\b.*\bpassent\b | \brien\ (?:d'autre\ |de\ plus\ )?à\ faire\b
        | \?\W*$ | \bsi\ (?:vous|tu|besoin|cela|ça)\b | \b(?:voulez-vous|veux-tu|souhaitez-vous)\b
        | \b(?:dites|dis|indiquez|faites)-(?:le-)?moi\b | \bdès\ que\ (?:vous|tu)\b
        | \b(?:j'attends|attendre|votre\ (?:réponse|accord|confirmation))\b
        | \bmerci\ de\b | \bveuillez\b | \bje\ (?:peux|pourrais|propose)\b
        """,
    ),
    "es": _language(
        r"""
        (?<!no\ )\bvoy\ a\b (?:\W+\w+){0,3}?\W*\w*(?:ar|er|ir)(?:l[oae]s?)?\b
        | \b(?:déjame|permíteme|déjeme|permítame)\b.*\w+(?:ar|er|ir)(?:l[oae]s?)?\b
        | (?<!no\ )\bvamos\ a\b\W+\w+(?:ar|er|ir)
        | \b(?:ahora|primero|luego|después|a\ continuación|en\ seguida|enseguida)\b
          (?:\ mismo)?,?\W+(?!no\b) (?:lo\ |la\ |los\ |las\ )?
          (?:\w+(?:ré|emos)|leo|corrijo|creo|cambio|añado|agrego|elimino|ejecuto|actualizo|reviso
          |modifico|arreglo|implemento|busco|escribo|compruebo|verifico|empiezo|comienzo|edito)\b
        | (?<!no\ )\b(?:necesito|debo|tengo\ que)\ (?:primero\ |ahora\ |aún\ )?\w+(?:ar|er|ir)\b
        | \b(?:procedo|procederé|empiezo|empezaré|comienzo|comenzaré|paso|pasaré)\ (?:a|por|con)\b
        | (?<!no\ )(?<!\w)(?:(?:lo|la|los|las)\ )?\w+(?:aré|eré|iré)\b | \bme\ pongo\ a\b
        | ^(?:comencemos|empecemos|veamos)\b | ^(?:continúo|continuando|sigo)\b
        """,
        r"""
        \b(?:listo|hecho|terminado|completado|guardado|finalizado|éxito)s?\b
        | \b(?:he|ha|han|hemos|fue|fueron|está|están|queda|quedan)\W+(?:sido\ |ya\ )?
          \w+(?:ado|ada|ados|adas|ido|ida|idos|idas|to|ta|tos|tas|cho|cha)\b
        | \b(?:pruebas|tests)\b.*\bpasan\b | \bnada\ (?:más\ )?(?:que|por)\ hacer\b
        | \?\W*$ | ¿ | \bsi\ (?:quieres|quiere|deseas|desea|lo|prefieres|necesitas|te|me)\b
        | \b(?:dime|dígame|avísame|avíseme|confirma|confirme|indícame)\b
        | \b(?:cuando|en\ cuanto|una\ vez\ que)\ (?:me|lo|tú|usted|quieras|confirm\w+)\b
        | \b(?:espero|esperar|esperaré|quedo\ a\ la\ espera)\b | \b(?:puedo|podría)\b
        """,
    ),
    "pt": _language(
        r"""
        (?<!não\ )\bvou\b (?:\W+\w+){0,3}?\W+\w*(?:(?:ar|er|ir|or)\b|\w-[lno]\w+)
        | \b(?:deixe-me|deixa-me|deixa\ eu|deixe\ eu|permita-me)\b.*\w+(?:ar|er|ir)\b
        | (?<!não\ )\bvamos\b\W+\w+(?:ar|er|ir)\b
        | \b(?:agora|primeiro|depois|a\ seguir|em\ seguida|já)\b,?\W+(?:eu\ )?(?!não\b)
          (?:\w+(?:rei|remos)|leio|corrijo|crio|altero|mudo|adiciono|removo|executo|atualizo|reviso
          |modifico|implemento|procuro|escrevo|verifico|começo|edito|ajusto|substituo)\b
        | (?<!não\ )\b(?:preciso|devo|tenho\ (?:de|que))\ (?:primeiro\ |agora\ |ainda\ )?
          \w+(?:ar|er|ir)\b
        | \b(?:começo|começarei|passo|passarei|procedo|procederei)\ (?:a|por|com|pelo|pela|para)\b
        | ^(?:\w+(?:arei|erei|irei))\b | (?<!não\ )\birei\ \w+(?:ar|er|ir)\b
        | ^no\ próximo\ passo\b.*\w+rei\b | ^(?:continuo|continuando|prosseguindo)\b
        """,
        r"""
        \b(?:pronto|feito|concluído|terminado|completo|salvo|sucesso)[as]*\b
        | \b(?:foi|foram|está|estão|fica|ficam|tenho|tem)\W+(?:agora\ |já\ )?
          \w+(?:ado|ada|ados|adas|ido|ida|idos|idas|to|ta|tos|tas)\b
        | \b(?:alterei|criei|corrigi|adicionei|removi|atualizei|executei|implementei|escrevi|mudei
          |renomeei|movi|apaguei|substituí|fiz|ajustei|modifiquei)\b(?!-)
        | \btestes\b.*\bpassam\b | \bnada\ (?:mais\ )?(?:a|para|por)\ fazer\b
        | \?\W*$ | \bse\ (?:quiser|quiseres|desejar|preferir|precisar|você|for|tu)\b
        | \b(?:diga|avise|confirme|informe|indique)(?:-me)?\b | \bme\ (?:diga|avise|confirme)\b
        | \b(?:quando|assim\ que|depois\ que)\ (?:você|me|quiser|confirmar)\b
        | \b(?:aguardo|aguardar|espero|esperar|fico\ à\ espera)\b | \b(?:posso|poderia)\b
        """,
    ),
    "zh": _language(
        r"""
        (?:让我|讓我|让我们|我先|我来|我來)[^，。；！？]{0,12}?(?:读|讀|看|查|检|檢|改|修|创|創
          |写|寫|运|運|执|執|测|測|试|試|处|處
          |搜|找|分析|更新|实现|實現|开始|開始|加|删|刪)
        | (?:我|我们|咱们)(?:现在|現在|接下来|接下來|马上|馬上|这就|這就|先|将|將|会|會|来|來|要
          |需要|得|就|开始|開始|再|继续|繼續|首先|准备|準備|去){1,4}
          [^，。；！？]{0,24}?(?:读|讀|看|查|检|檢|改|修|创|創|建|写|寫|加|添|删|刪|替|换|換|运
          |運|执|執|测|測
          |实现|實現|更新|重构|重構|移|处理|處理|分析|打开|開|调整|調整|完成|搜|找|继续|繼續
          |开始|開始)
        | ^(?:现在|現在|接下来|接下來|首先|然后|然後|下面|下一步)[，,]?(?:我|让我|讓我|来|來
          |开始|開始|将|將
          |就|继续|繼續)
        | ^(?:正在|开始|開始|继续|繼續)(?:读|讀|查|检|檢|修|创|創|写|寫|运|運|执|執|处|處|实|實
          |更|搜|分)
        """,
        r"""
        已(?:经|經)?\w | (?:完成|保存|通过|通過|成功|改好|写好|处理完|搞定)[。！!]?$
        | 了[。！!]?$ | 无需|無需|没有(?:其他|更多)|不需要
        | [？?]\W*$ | 吗|嗎|呢[。]?$ | (?:如果|若|如需|假如|只要|等|当|當)[^，。]{0,8}?(?:你|您
          |需要|愿意|願意)
        | 请(?:告诉|确认|提供|选择|回复|让我)|請(?:告訴|確認|提供|選擇|回覆)|告诉我|告訴我|随时|隨時
        | 是否|要不要|需不需要|等待|等您|等你|可以帮|可以为|可以幫
        """,
    ),
    "ja": _language(
        r"""
        (?:これから|今から|それでは|では|早速|さっそく|続いて|引き続き|次に|次のステップ|まず
          |最初に|先に|すぐに|ここで
          |いま|今|私が|私は)(?![^。]*(?:関数|クラス|メソッド|コード|プログラム|スクリプト
          |モジュール|処理)(?:は|が))
          [^。]{0,60}?(?:確認|修正|変更|作成|追加|削除|実装|実行|更新|調査|検索|編集|テスト
          |リファクタ\w*|置換|移動
          |対応|開始|調整|着手|続行|分析|見|書き|書き換え|直し|読み|調べ|進め|始め|開き|置き換え
          |探し|行い|取り掛かり|取りかかり)
          (?:を(?:行い|し|始め|開始し)|し|て)?(?:(?:て)?(?:み|いき|行き|おき))?(?:ます|ましょう)
          (?:ね)?(?:[。！!]|$)
        | (?:見|調べ|確認し|直し|修正し|実行し|進め|始め)て(?:み|いき)ます[。！!]?$
        """,
        r"""
        ました | 完了 | 済み | できています | なっています | 終わり | 不要です
        | 必要はありません | 問題ありません
        | [？?]\W*$ | ください | 下さい | でしょうか | ますか | ましょうか | 場合は | ご希望
        | お待ち | お知らせ
        | 待ちます | ご確認 | よろしければ | もし | たら | 必要なら | できます | 可能です | いただけ
        """,
    ),
    "ru": _language(
        rf"""
        (?<!не\ )\b(?:сейчас|теперь|далее|затем|сначала|сперва|потом|для\ начала|следующим\ шагом)\b
          ,?\ (?:я\ )?(?!не\b)(?:\w+\ ){{0,2}}?(?:{_RU_DO}|буду\ \w+ть\b)
        | \bя\ (?!не\b)(?:сейчас\ |теперь\ |сначала\ |также\ |ещё\ )?(?:{_RU_DO}|буду\ \w+ть\b
          |собираюсь\ \w+ть\b)
        | \bдавай(?:те)?\ (?:я\ )?(?:\w+\ )?(?:посмотр|провер|начн|исправ|прочита|запуст|созда|откро
          |изуч|найд|сдела|добав|обнов|измен)\w*
        | \bмне\ (?:нужно|надо|ещё\ нужно)\ (?:сначала\ |теперь\ |ещё\ )?\w+ть\b
        | ^(?:приступаю|перехожу|начинаю|продолжаю|исправляю|проверяю|читаю|создаю|обновляю|запускаю
          |добавляю|ищу|открываю|изучаю)\b
        | ^{_RU_DO}
        """,
        r"""
        \b(?:готово|сделано|завершен|завершён|выполнен|исправлен|обновлен|обновлён|создан|добавлен
          |удален|удалён|сохранен|сохранён|измен[её]н[аоы]?\b|переименован|успешно)\w*
        | \b(?:исправил|изменил|создал|добавил|удалил|заменил|проверил|запустил|реализовал|обновил
          |переименовал|написал|сделал|внёс|внес|перенес|перенёс|закончил)[аи]?\b
        | \bтесты\b.*\bпроход\w+ | \bничего\b.*\bне\ (?:нужно|требуется)\b
        | \?\W*$ | \bесли\ (?:хотите|хочешь|нужно|вы|ты|вам|тебе|потребуется|будет)\b
        | \b(?:скажите|скажи|сообщите|сообщи|подтвердите|подтверди|дайте\ знать|дай\ знать|уточните
          |напишите|напиши)\b | \b(?:жду|подожду|ожидаю)\b | \bкогда\ (?:вы|ты)\b
        | \bпосле\ вашего\b | \b(?:могу|мог\ бы|пожалуйста)\b
        """,
    ),
}
"""By language; all are tried, because an answer's language is unknown."""

UNSPACED_END = re.compile(r"(?<=[。！？])")
"""The end of a sentence that no space follows."""
