"""Words that say how a statement is meant: negation, quantity words, change over time, hearsay, conditions, wishes."""

from __future__ import annotations

import re
from typing import Final


def words(listed: str) -> frozenset[str]:
    """A list of words, written with spaces between."""
    return frozenset(listed.split())


def _words(latin: str, han: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{latin})\b|(?:{han})", re.IGNORECASE)


NEGATION: Final = _words(
    r"no|not|never|none|nobody|nothing|neither|without|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't|wasn't|"
    r"weren't|hasn't|haven't|shouldn't|mustn't|couldn't|wouldn't|nor|non-\w+|"
    r"forbidden|prohibited|banned|refus\w+|declin\w+|turn(?:s|ed)? down|lacks?|lacking|stands? flying",
    r"不(?!过|仅|但|同(?!意)|少|久|错|止|论|如|管|断|得不|降反升)|没(?!事)|无(?!论|线)|未(?!来)|别(?!人|的|"
    r"处|墅)|勿|莫|非(?!常|洲)"
    r"|禁止|严禁|拒绝|从未|毫无|免(?=运费)|忘(?:了|记)",
)
UNIVERSAL: Final = _words(
    r"all|every|each|always|everyone|everybody|everything|entire|whole|no one|nobody|none|never|no|only|any",
    r"所有|全部|每|都|全(?=程|天|员|年)|一律|永久|从来|从未|从不|任何|一概|只(?!好|是|要)|仅|唯一|没有一",
)
ONLY: Final = _words(
    r"only|solely|exclusively|just|nothing else|nobody else|no other", r"只(?!好|是|要|读)|仅|唯一|没有第二"
)
PARTIAL: Final = _words(
    r"some|most|mostly|many|few|several|partly|usually|often|sometimes|on average|mainly|typically|part of",
    r"有些|有的|部分|大多|大部分|少量|少数|多数|一些|通常|有时|平均|主要|偶尔|还有少",
)
CHANGE: Final = _words(
    r"no longer|any ?more|not any longer|has moved|have moved|moved to|moved from|switched|changed|"
    r"replaced|instead now|from now on|"
    r"as of|since (?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|last|"
    r"this|yesterday)\w*|"
    r"from (?:\w+ ){1,3}on|turned out|slipped|postponed|brought forward|rescheduled|raised|lowered|doubled|halved|"
    r"increased|reduced|extended|"
    r"shortened|cut|new(?= \w+ (?:address|number|date|name|price|limit)|\s(?:address|number|date|name|"
    r"price|limit|rule|plan))|"
    r"now|already back|is back|has (?:sent|left|joined|returned|resigned|retired|quit|arrived)|(?:has|"
    r"have) been (?:cancell?ed|switched|moved|changed|replaced|raised|lowered|extended|retired)|wrote "
    r"again|withdr\w+|"
    r"retired|deprecated|discontinued|used to|formerly|previously|former|updated|revised|corrected|changed "
    r"(?:her|his|their) mind|"
    r"after all|migrated|renamed|promoted|took over|takes over|merged into",
    r"不再|改(?:成|为|由|到|用|约|期|签|找|走|坐)|换成|换了|变更|调整(?:为|到|成)|已经?(?:回|离|下线|停|搬|"
    r"换|取消|作废|废|撤|转|交|升级|迁)|现在|"
    r"从.{1,8}(?:起|开始)|(?:今天|本周|本月|周.|月|日|号)一?起|起(?=[，,])|延长|缩短|提前到|推迟|延期|延后|"
    r"上调|下调|提高到|降到|升到|降为|增至|"
    r"停用|下线|离职|搬(?:到|家|去)|改主意|取消了|作废|废止|接替|接手|最终确认|最后确认|更正|修正|更新为|"
    r"新的|以前.{0,8}现在|原来|原先|升级到|迁(?:到|移到)",
)
"""Said by the newer of two statements: it replaces something."""
NOT_ALL: Final = _words(
    r"not (?:true that )?(?:every|all|always|everyone)|isn't true that (?:every|all)|hardly (?:all|every)",
    r"(?:并非|不是|并不是|未必)(?:所有|全部|每|都|总)|不都|不全",
)
BELIEF: Final = _words(
    r"believes?|thinks?|suspects?|assumes?|guess(?:es)?|probably|perhaps|maybe|possibly|allegedly|seems?|"
    r"might|rumou?r\w*",
    r"认为|觉得|怀疑|猜|估计|可能|也许|大概|听说|据说|似乎|好像",
)
OPEN: Final = _words(
    r"unknown|unclear|undecided|not known|not decided|tbd|tba|to be (?:decided|announced|confirmed)|under "
    r"investigation|open question",
    r"未知|不明|待定|待查|未定|还不清楚|尚不清楚|调查中|原因不详",
)
"""The statement leaves open what another may fill in."""
REPORT: Final = _words(
    r"(?:he|she|they|(?-i:[A-Z])\w+) (?:said|says|claims?|told)|claims?|claimed|reportedly",
    r"[他她]说|声称|自称|[一-鿿]{2,3}(?<!会)(?<!能)(?<!来)(?<!，)说(?!明|得|法|[日英汉法德俄粤]语)",
)
CONDITION: Final = _words(
    r"if|unless|in case|provided|whenever|when(?= \w+ (?:is|are|rains|snows|fails))",
    r"如果|要是|假如|倘若|除非|万一|一旦|只要",
)
RULE: Final = _words(
    r"must|should|shall|ought|manual|policy|rule|guideline|usually|normally|supposed to",
    r"规定|应(?:该|当)|手册|规则|原则上|须|要先",
)
DEED: Final = _words(
    r"yesterday|last (?:night|week|month|year)|this morning|once|twice|rang|was|were|did|went|had|has|"
    r"(?!need|speed|feed|seed|indeed|fixed|required|allowed|supposed)\w{2,}ed|bought|took|came|sent",
    r"昨天|昨晚|上周|上个?月|刚|了(?!解)|过(?!敏|期|道|程|滤)|当时|今天中午|曾",
)
LIKING: Final = _words(
    r"likes?|loves?|enjoys?|prefers?|dislikes?|hates?|fond of|does not like|can't stand|cannot stand",
    r"喜欢|爱(?=吃|喝|看|听|用)|偏好|偏爱|讨厌|不喜欢|受不了",
)
PREFERENCE: Final = _words(
    r"prefers?|preferred|preference|likes?|dislikes?|loves?|hates?|favou?rite|would rather|can't stand|"
    r"cannot stand|rather than|"
    r"wants?|don't want|always (?:book|use|take|choose|order|send)s?|never (?:book|use|take|call|send|eat|"
    r"fly)s?|allerg\w+|vegan|vegetarian|"
    r"only (?:eat|fl(?:y|ies)|take|use|drink|sit|travel)s?|please (?:always|never)|in future|from now on",
    r"喜欢|偏好|偏爱|讨厌|受不了|习惯|爱(?=吃|喝|看|用|坐)|不吃|不喝|不坐|过敏|只(?:坐|吃|喝|用|住|要|收)|"
    r"宁可|宁愿|以后(?:都|请|就|别|不)|"
    r"一律|总是|从来(?:不|要)|希望|不想要|最好|倾向",
)
"""A standing taste or need of somebody."""
CONSTRAINT: Final = _words(
    r"must(?: not|n't)?|have to|has to|need(?:s|ed)? to|needs|required?|no exceptions|at (?:least|most)|no "
    r"(?:more|later|less) than|"
    r"up to|under|within|budget|limit\w*|deadline|before|by (?:\d|mon|tue|wed|thu|fri|sat|sun|noon|end)\w*|"
    r"only|never|without|allerg\w+|"
    r"not allowed|forbidden|do not|don't|cannot|can't|whatever you|one thing up front|condition|hard|keep|no \w+",
    r"必须|务必|一定|不能|不可|不要|不得|不准|不许|不超过|至少|最多|最晚|最迟|以内|之前|以后|预算|上限|限|"
    r"只能|只要|只|过敏|任何情况|"
    r"要求|别(?!人|的)|禁止|千万|硬|都不能|不行|全程|截止|下班前|年底|月底|不(?:想|敢|用)",
)
"""A condition on what is done."""
WISH: Final = _words(
    r"remember(?: that| this|:)?|don't forget|do not forget|keep in mind|note that|make a note|please note|"
    r"for the record|"
    r"for future reference|from now on|bear in mind",
    r"记住|记得|记下|别忘|不要忘|牢记|请注意|备忘|以后都|以后请|今后",
)
"""An explicit wish that something be kept."""
CORRECTION: Final = _words(
    r"no(?=[!,.])|not (?:that|this|the)|wrong|actually|i meant|i said|instead|correct(?:s|ion|ed)?|mistake|"
    r"that's not|should be|"
    r"i told you|wait|rather|sorry",
    r"不对|不是|错了|弄错|搞错|应该是|我说过|我说的是|更正|纠正|等一下|说了|忘了开头|第一句|不行",
)
"""The user sets the agent right."""
FAILED: Final = _words(
    r"error|fail(?:s|ed|ure)?|denied|refused|rejected|timeout|timed out|not found|no reply|no such|"
    r"unavailable|exception|"
    r"locked|missing|aborted|crash\w*|goaway|overflow|forbidden|unauthori[sz]ed|invalid|does not exist|0 "
    r"\w+ found|\b[45]\d\d\b(?= (?:error|no|not))",
    r"错误|失败|报错|拒绝|超时|未找到|没有找到|找不到|不存在|没有匹配|无记录|已满|锁定|被锁|异常|无法|"
    r"缺一位|缺失|不足|中断|无权限|权限不足|未登录|(?<!\d)0 (?:家|条|个|件|行)",
)
"""A result that is none."""
UNSOLVED: Final = _words(
    r"could ?n[o']t|cannot|can't|unable|did ?n[o']t (?:work|help|succeed|go)|failed|no way|not possible|"
    r"gave up|without success|unresolved|"
    r"not solved|no luck|impossible|was refused|still (?:broken|down|failing)|blocked",
    r"没能|未能|无法|没有?解决|解决不了|没办法|没有成功|失败|办不到|做不到|没有?发出去|没查出|仍然不行|"
    r"未解决|搞不定|不成",
)
"""An answer that owns up to a failure."""
PLEASED: Final = _words(
    r"thanks?|thank you|great|perfect|good|fine|excellent|ok(?:ay)?|right|lovely|agreed|works for me",
    r"谢谢|很好|好的|可以|没问题|太好了|满意|不错|同意|行|好(?=[，。,!！]|$)",
)
SCORN: Final = _words(
    r"wrong|bad|terrible|useless|unacceptable|disappointed|angry|not what|complain\w*|still not",
    r"不满|太差|没用|投诉|生气|不行|失望|错了|糟糕",
)


def negated(text: str) -> bool:
    """Whether an odd number of negations stands in ``text``: "not true that … never" affirms."""
    return len(NEGATION.findall(text)) % 2 == 1
