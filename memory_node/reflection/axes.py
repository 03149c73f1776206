"""Words that exclude each other: opposites, and states or choices of which a thing has one at a time.

An axis has poles; a text that puts one thing at two poles of an axis contradicts itself. Words of both languages stand
at the same pole, so that a statement in one can be held against one in the other. Word classes of everyday and
technical English and Chinese; Latin patterns match at word starts.
"""

from __future__ import annotations

import functools
import re
from typing import Final, TypeAlias

# axis: latin patterns | chinese words. Lines with the same axis are its poles.
_AXES: Final = r"""
success: succe(?:ed¦ss)\w* complet\w+ finish\w* pass(?:ed¦es) (?:works?¦worked)\b fine\b | 成功 完成 通过 顺利 搞定 修好
success: fail\w* abort\w* crash\w* broke\b broken\b timed?.?out reject\w* | 失败 中断 中止 崩溃 报错 未完成 没能
open: open(?:s¦ed)?\b | 开放 开门 营业 开着 照常开
open: clos(?:es¦ed)\b shut\b | 关闭 关门 歇业 停业 关着
place: outdoors?\b outside\b | 室外 户外
place: indoors?\b | 室内 屋内
accept: accept(?:s¦ed)?\b agree(?:s¦d)?\b approv(?:es¦ed)\b | 接受 同意 答应 批准 赞成
accept: declin(?:es¦ed)\b refus(?:es¦ed)\b reject\w*\b turn(?:s¦ed)?\sdown den(?:ies¦ied)\b | 拒绝 谢绝 驳回 反对
keep: keeps?\b kept\b retain\w* preserv\w+ | 保留 留下 保存
keep: drop(?:s¦ped)\b throws?\b.*\baway discard\w* delet\w+ removes?\b removed\b skips?\b | 丢弃 删除 丢掉 扔掉 去掉
support: supports\b supported\b | 支持 兼容
support: drop(?:s¦ped)\ssupport unsupported\b | 停止支持 放弃支持 不支持
enabled: enabled\b switched\son\b turned\son\b | 启用 开启 打开了
enabled: disabled\b switched\soff\b turned\soff\b | 禁用 停用 关掉
change: (?:rose¦rises?¦increas\w+¦grew¦went\sup) | 上升 上涨 增加 升高 反升 变多
change: (?:fell¦falls?¦decreas\w+¦shrank¦went\sdown¦(?:dropped¦went)\sto\szero) | 下降 下跌 减少 降低 归零 变少
health: healthy\b green\b unaffected\b | 健康 正常 没有受影响 照常
health: down\b unhealthy\b outage.began origin | 故障了 宕机 瘫痪 停电 停水
presence: has\sa\b have\sa\b there\s(?:is¦are)\b(?!\sno) comes\swith | 设有 配有 带有
presence: has\sno\b have\sno\b there\s(?:is¦are)\sno\b lacks?\b without\b | 没有 不含 不带 未配
diet: vegan\b vegetarian\b | 吃素 素食
diet: eats\smeat beef\b steak\b pork\b | 吃肉 牛肉 荤菜
payment: (?:by¦with¦a)\s(?:credit\s)?card\b | 刷卡 信用卡
payment: (?:paid¦pays?¦in)\s(?:in\s)?cash\b | 现金
payment: bank\stransfer | 转账 汇款
freight: by\ssea\b sea\sfreight | 海运
freight: by\sair\b air\sfreight | 空运
freight: by\srail\b | 铁路运输 铁运
freight: by\sroad\b by\struck\b | 陆运 公路运输 汽运
material: solid\s(?:oak¦wood¦beech¦pine¦walnut) | 实木
material: chipboard plywood veneer mdf\b foil\b | 刨花板 密度板 贴皮 板材
material: leather\b | 真皮
material: (?:steel¦metal¦aluminium)\b | 金属 不锈钢 铝合金
fibre: pure\swool all\swool | 纯羊毛 全羊毛
fibre: polyester synthetic | 聚酯 化纤 涤纶
fibre: pure\scotton | 纯棉
heat: (?:not¦no)\sspicy mild\b | 不吃辣 不辣 微辣 清淡
heat: very\sspicy extra\shot | 特辣 重辣 无辣不欢
lasting: never\sexpires? permanent\w* for\slife\b unlimited | 永久 终身 长期有效 不过期
lasting: expires?\safter lapses?\b | 清零 过期 失效 到期
fluency: speaks?\b(?!\sno\b) fluent\w* | 会说 会讲 精通 流利 听得懂 懂
fluency: speaks?\sno\b | 一窍不通
threads: thread-safe | 线程安全
threads: not\sthread-safe single-threaded | 不能被多个线程 非线程安全 线程不安全
necessity: must\b (?:has¦have)\sto\b requir\w+ mandatory needs?\b | 必须 务必 一定要 需要
necessity: not\s(?:need\w*¦required¦necessary) need\snot\b optional\b no\sneed\b | 不需要 无需 不必 不用
licence: mit\b(?=\slicen¦\s许可) | MIT
licence: a?gpl\S* | GPL-3.0 GPL
licence: apache-2\S* apache\s2 | Apache-2.0
seat: window\sseat\w* | 靠窗
seat: aisle\b | 过道
route: direct\sflights? non-?stop\b | 直飞
route: stop-?over\b layover connecting\sflight | 转机 经停 中转
delivered: delivered\b handed\sover arrived\b | 送达 已签收 签收
delivered: never\sleft not\sbeen\ssent cancell?ed\b lost\b | 未发货 没发货 已取消 丢件
availability: in\sstock\b available\b | 有货 现货
availability: out\sof\sstock sold\sout | 缺货 断货 售罄
day: at\sall\shours around\sthe\sclock 24/7 24\shours | 全天 二十四小时 24 小时
day: closes\sat\b closed\sat\snight | 夜间关闭
price: free\sof\scharge for\sfree is\sfree are\sfree free\b(?=[.,;]) | 免费
price: charges\b costs\b paid\b(?=\sextra) | 收费 付费
public: public\b | 公开
public: private\b confidential\b | 私有 保密 内部
sync: synchronous\b | 同步执行
sync: asynchronous\b async\b | 异步
fuel: electric\b | 电动
fuel: diesel\b petrol\b | 柴油 汽油
marital: single\b unmarried\b | 单身 未婚
marital: married\b | 已婚 结婚
living: alive\b | 健在
living: died\b dead\b deceased | 去世 过世
review: review(?:ed)?\sand\sapproved reviewed\sby approved\sby | 评审通过 审核通过
review: no\sreview without\s(?:any\s)?review unreviewed | 未经评审 没有评审 未审核
temperature: hot\b warm\b | 热的 加热
temperature: cold\b cooled\b frozen\b | 冷的 冷藏 冷冻
first: first\b earliest | 首先 最早
first: last\b latest\b | 最后 最晚
"""


_ASPECTS: Final = r"""
environment: staging test\senvironment\w* in\stest\b | 测试环境 预发 测试库
environment: production prod\b live\b | 生产 正式环境 线上环境 正式库
environment: development dev\senvironment | 开发环境
channel: online\b web\s?shop website e-?shop | 线上 网店 网上 官网
channel: showroom in\sstores? in\sshops? at\sthe\scounter | 门店 实体店 店里 柜台 展厅
days: weekends? | 周末
days: weekdays? workdays? working\sdays | 工作日 平日 平时
days: (?:public\s)?holidays? | 节假日 假期
daypart: mornings? before\snoon | 早上 上午 清晨
daypart: afternoons? after\slunch | 下午 午后
daypart: evenings? nights? at\snight after\sdinner | 晚上 夜里 晚间
tongue: english\b | 英语 英文
tongue: chinese\b mandarin\b | 中文 汉语 普通话
tongue: cantonese\b | 粤语 广东话
tongue: japanese\b | 日语 日文
tongue: korean\b | 韩语 韩文
tongue: french\b | 法语 法文
tongue: german\b | 德语 德文
tongue: spanish\b | 西班牙语
tongue: russian\b | 俄语 俄文
shift: (?:day¦early)\sshifts? | 白班 日班 早班
shift: (?:night¦late)\sshifts? | 夜班 晚班
trip: business\strips? for\swork for\sbusiness | 出差 公务 商务
trip: private(?:ly)? holidays? leisure family\strips? vacations? | 私人 度假 旅游
age: child\w* kids? under\s(?:six¦ten¦twelve¦\d+) | 儿童 小孩 孩子
age: adults? grown-ups? seniors? year-old | 大人 成人 老人
login: anonymous\w* guests?\b not\slogged\sin | 匿名 游客 未登录
login: logged\sin signed\sin members? | 登录以?后 已登录 会员
tax: before\stax net\b excl\w* | 不含税 税前 未税
tax: with\b.*\btax after\stax gross\b incl\w* | 含税(?<!不含税) 税后
span: annual\w* per\syear yearly a\syear | 每年 年费 按年(?!合计)
span: month\w* per\smonth a\smonth | 每月 月费
span: dai\w+ per\sday | 每天 每日
span: hourly per\shour every\shour | 每小时
backup: full\sbackups? | 全量
backup: incremental | 增量
size: has\s\d\S*\s?[GMT]i?B of\smemory capacity | 容量 总内存
size: in\suse\b memory\sused | 用到 已用 占用
leg: flight\stime in\sthe\sair | 飞行时间 航程
leg: door\sto\sdoor whole\sjourney | 门到门 全程时间
leg: walk\w* on\sfoot | 步行 走路 走到
leg: driving\b by\scar | 开车 驾车 打车
side: south\w* | 南
side: north\w* | 北(?!京)
side: east\w* | 东(?!西)
side: west\w* | 西(?!装¦服)
end: front-?end | 前端
end: back-?end | 后端
colour: blue\b | 蓝色
colour: gr[ea]y\b | 灰色
colour: red\b | 红色
colour: green\b(?!\sin) | 绿色
colour: white\b | 白色
colour: black\b | 黑色
colour: brown\b | 棕色
part: frame\b | 框架 椅架
part: fabric\b cover\b | 面料 布料
part: battery | 电池
part: screen display | 屏幕
empty: empty\b | (?<!非)空列表 空值
empty: non-?empty | 非空
branch: (?:docs?¦feature¦release¦side)\sbranch | 文档分支 特性分支
branch: (?:main¦default¦master)\sbranch (?:^¦the\s)build\sis | 主分支
direction: outbound outward | 去程
direction: return\s(?:flight¦trip¦leg¦journey) | 返程 回程
class: first\sclass | 头等
class: business\sclass | 商务舱
class: economy | 经济舱
amount: on\saverage mean\b median | 平均
amount: some\b peak\b worst | 有些 峰值 最高
diners: breakfast | 早餐 早饭
diners: lunch | 午餐 午饭
diners: dinner supper | 晚餐 晚饭
"""

# "not open", "不开放": right before the word, so that it stands at the other pole.
_NOT: Final = re.compile(
    r"(?:\b(?:not|never|no|isn't|wasn't|cannot|can't|doesn't|didn't|don't)\s(?:\w+\s)?|不[含带用]?|没有?|未|别|非"
    r"|\b(?:can't stand|cannot stand|hates?|dislikes?|avoids?|refuses?|no longer|rather than|instead of)\b[^.;,]*"
    r"|(?:讨厌|受不了|避免|不想|不要|不愿|不喜欢|不再)[^，。；]*)$",
    re.IGNORECASE,
)


def poles(text: str) -> dict[str, set[int]]:
    """For every axis that ``text`` speaks of, the poles at which it stands."""
    return _found(text, _axes())


def aspects(text: str) -> dict[str, set[int]]:
    """What part of a thing, which of several alike, or which circumstances ``text`` speaks of."""
    return _found(text, _aspects())


def _found(text: str, table: _Table) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for axis, poles in table.items():
        for pole, pattern in enumerate(poles):
            for match in pattern.finditer(text):
                turned = _NOT.search(text[max(0, match.start() - 40) : match.start()]) is not None
                if not turned or len(poles) == 2:
                    found.setdefault(axis, set()).add(1 - pole if turned else pole)
    return found


def opposite(a: dict[str, set[int]], b: dict[str, set[int]]) -> str | None:
    """An axis on which ``a`` and ``b`` stand at different poles, each at one alone."""
    for axis in a.keys() & b.keys():
        if len(a[axis]) == len(b[axis]) == 1 and a[axis] != b[axis]:
            return axis
    return None


_Table: TypeAlias = dict[str, tuple[re.Pattern[str], ...]]


@functools.cache
def _axes() -> _Table:
    return _parsed(_AXES)


@functools.cache
def _aspects() -> _Table:
    return _parsed(_ASPECTS)


def _parsed(lines: str) -> _Table:
    table: dict[str, tuple[re.Pattern[str], ...]] = {}
    for line in lines.strip().splitlines():
        axis, words = line.split(": ", 1)
        latin, _, han = words.rpartition("|")
        parts = [rf"\b(?:{word})" for word in latin.replace("¦", "|").split()]
        parts += [word.replace("¦", "|") for word in han.split()]
        table[axis] = (*table.get(axis, ()), re.compile("|".join(parts), re.IGNORECASE))
    return table
