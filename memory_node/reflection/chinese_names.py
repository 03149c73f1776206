"""Chinese names of people and places: the segmenter's tags, checked against surnames and endings.

The segmenter (jieba's dictionary and hidden Markov model) finds most names, cuts some in two and takes common words
for some; surnames and the words around a name set that right.
"""

from __future__ import annotations

import re
from typing import Final

import rjieba

from ..simplified import simplified
from .cues import words

_SURNAMES: Final = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方俞任袁柳酆鲍史唐"
    "费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵湛汪祁毛禹狄米贝明臧计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝"
    "闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯昝管卢莫经房裘缪干解应宗丁宣贲邓郁单杭洪包诸左石崔吉钮龚程嵇邢滑"
    "裴陆荣翁荀羊惠甄曲家封芮羿储靳汲邴糜松井段富巫乌焦巴弓牧隗山谷车侯宓蓬全郗班仰秋仲伊宫宁仇栾暴甘斜厉戎祖武符刘景詹束龙叶幸司韶黎"
    "蓟薄印宿白怀蒲邰从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍双闻莘党翟谭贡劳逄姬申扶堵冉宰郦雍郤璩桑桂濮牛寿通边扈燕冀郏浦尚农温别庄晏柴瞿阎充"
    "慕连茹习宦艾鱼容向古易慎戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东欧殳沃利蔚越夔隆师巩厍聂晁勾敖融冷訾辛阚那简饶空曾毋沙乜养鞠须丰巢关"
    "蒯相查后荆红游竺权逯盖益桓公岳帅缑亢况有琴佘商牟墨哈谯笪年爱阳佟言福肖闫覃"
)
# Characters that are surnames and, far more often, parts of other words: only believed where the word around says so.
_DOUBTFUL: Final = frozenset(
    "水云花方任时常乐于元平和成明计强经应家全能通连向有国文广东利关相后年言别单解都干安高金马车房包石山空从双满师须权查公商简索印边管万支"
)
_NOT_NAMES: Final = words(
    "顾客 高兴 方案 任务 程序 时间 常用 安装 安排 成功 明天 明确 计划 经理 应该 家里 全部 能够 通知 连接 国内 "
    "文件 关闭 相关 单独 解决 包裹 空间 满意 "
    "师傅 权限 查询 公司 商品 管理 支付 支持 高峰 高铁 金额 白天 白板 红色 黄色 谢谢 温度 冷藏 边缘 古城 "
    "封面 席位 段落 毕竟 平台 平均 华为 冯唐 别人 "
    "易碎 简单 游客 房间 车站 何时 何况 马上 安全 沙发 柜台 雷达 石墨 江南 徐徐 罗列 路上 路由 项目 单位 "
    "周末 周三 周会 周期 周报 周五 周一 周二 周四 周六 周日 "
    "白名单 黑名单 主库 从库 过敏 静默 胡桃木 胡桃 白桦 谈话 尤其 左右 强制 双方 井号 于是 曾经 熊猫 金属 "
    "乌龙 史上 容器 容量 易用 汤匙 洪水 家具 万一 温水 应用 许可 许可证 毛毯 "
    "云端 云南 广告 索引 祝福 强调 康复 宁可 宁愿 习惯 向导 党员 利用 松动 冷却 红包 牛肉 牛奶 羊毛 米饭 "
    "鱼类 花费 花生 花园 茅台 苗条 桑拿 柏油 梅雨 江河 夏季 秋季 年底 月底"
)
_NEAR: Final = 16
_BEFORE: Final = re.compile(
    r"(?:我叫|我是|名叫|叫做|叫|姓名|客户|顾客|联系人|负责人|负责人写我|同事|用户|先生|女士|给|找|问|请|"
    r"通知|联系|由|让|和|跟|与|告诉|抄送|转告|交给|"
    r"是|被|为|替|陪|[：:、，。（(\s]|^)[：:]?$"
)
_AFTER: Final = re.compile(
    r"^(?:有|坐|到|住|需|先生|女士|小姐|老师|经理|医生|师傅|说|问|要|想|的|在|和|与|跟|会|没|不|也|又|把|"
    r"给|把|对|来|去|主持|负责|核对|改|提|坐|选|订|收|今天|昨天|下午|上午|"
    r"反馈|同意|更新|喜欢|讨厌|只|代|指出|搬|上月|离职|点菜|一句|从|[：:，。、）)；;！？\s]|$)"
)
_PLACE_END: Final = re.compile(
    r"[\u4e00-\u9fff]{0,4}(?:山|湖|寺|古镇|古城|小院|酒店|客栈|机场|大学|公园|博物馆|广场|大厦|车站|书局|"
    r"书店|医院|银行|公司|饭店|餐厅|潭|岛|宫|府|庙|塔|桥|街|路|港|湾)$"
)
_LANDSCAPE: Final = words(
    "高原 平原 山区 海边 沿海 内陆 盆地 草原 沙漠 北方 南方 东部 西部 中部 国内 国外 雪山 火山 码头 银行 医院 "
    "酒店 公司 机场 车站 书店 书局 公园 广场 大学"
)
_HAN: Final = re.compile(r"[\u4e00-\u9fff]+")


def people(text: str) -> list[str]:
    """Names of people, as they stand in ``text``."""
    found: list[str] = []
    plain = simplified(text)
    tagged = rjieba.tag(plain) if _HAN.search(plain) else []
    start = 0
    for i, (word, tag) in enumerate(tagged):
        before = ("\0" if start > _NEAR else "") + plain[max(0, start - _NEAR) : start]
        if len(word) == 2 and word[0] in _SURNAMES and i + 1 < len(tagged) and tagged[i + 1][1] == "nr":
            tag = "nr" if len(tagged[i + 1][0]) == 1 else tag  # 温知|夏: the segmenter saw half of the name
        for name in _readings(word, tag, tagged, i):
            end = start + len(name)
            if _is_name(name, tag, before, plain[end : end + _NEAR]) and (written := text[start:end]) not in found:
                found.append(written)
                break
        start += len(word)
    return found


def _readings(word: str, tag: str, tagged: list[tuple[str, str]], i: int) -> list[str]:
    """The word with what the segmenter may have cut off: 温知|夏, 钟予|安, 徐念|禾."""
    follower = tagged[i + 1][0] if i + 1 < len(tagged) else ""
    readings = []
    if word[0] in _SURNAMES and "\u4e00" <= word[-1] <= "\u9fff":
        if len(word) == 2 and len(follower) == 1 and "\u4e00" <= follower <= "\u9fff" and not _AFTER.match(follower):
            readings.append(word + follower)
        if 2 <= len(word) <= 3:
            readings.append(word)
        if len(word) == 1 and len(follower) == 2 and "\u4e00" <= follower[0] <= "\u9fff":
            readings.append(word + follower)
    elif tag == "nr" and 2 <= len(word) <= 4:
        readings.append(word)
    return readings


def _is_name(name: str, tag: str, before: str, after: str) -> bool:
    if name in _NOT_NAMES or name[:2] in _NOT_NAMES or any(c in "的了在是不我你他她它们这那上下前后" for c in name[1:]):
        return False
    surrounded = bool(_BEFORE.search(before)) and bool(_AFTER.match(after))
    if name[0] not in _SURNAMES:
        return False
    if tag == "nr" and name[0] not in _DOUBTFUL:
        return bool(_BEFORE.search(before)) or bool(_AFTER.match(after))
    introduced = (
        re.search(r"(?:叫|姓名|负责人写我|负责人|联系人|客户|顾客|女士|先生|同事)[：:是为]?$", before) is not None
    )
    return (introduced and bool(_AFTER.match(after))) or (tag == "nr" and surrounded)


def places(text: str) -> list[str]:
    """Names of places and houses: what the dictionary knows, and words with a place's ending."""
    found: list[str] = []
    plain = simplified(text)
    tagged = rjieba.tag(plain) if _HAN.search(plain) else []
    end = 0
    for i, (word, tag) in enumerate(tagged):
        end += len(word)
        follower = tagged[i + 1][0] if i + 1 < len(tagged) else ""
        if follower.startswith("时间"):
            continue  # 北京时间
        if (
            len(word) > 1
            and _HAN.fullmatch(word)
            and len(follower) > 1
            and _PLACE_END.fullmatch(follower)
            and tag in ("nr", "ns", "nz", "n", "vg", "x")
        ):
            name, till = word.removeprefix("住").removeprefix("去") + follower, end + len(follower)
        elif (tag in ("ns", "nt") and len(word) > 1) or (
            _PLACE_END.fullmatch(word) and len(word) > 2 and tag.startswith(("n", "i", "j"))
        ):
            name, till = word, end
        else:
            continue
        written = text[till - len(name) : till]
        if written not in found and name not in _NOT_NAMES and name not in _LANDSCAPE:
            found.append(written)
    return found
