#include "ethernet/traffic_rules.h"

#include <arpa/inet.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_pedit.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "ethernet/rtnl_socket.h"

namespace paravane::ethernet {
namespace {

constexpr const char* kHookKind = "clsact";
constexpr const char* kClassifier = "bpf";
constexpr const char* kRedirect = "mirred";
constexpr const char* kEditKind = "pedit";
constexpr const char* kChecksumKind = "csum";
constexpr std::string_view kCookie = "paravane";  // the kernel takes 16 bytes
constexpr std::uint32_t kHookHandle = TC_H_MAKE(TC_H_CLSACT, 0U);

template <std::size_t N>
using Attributes = std::array<nlattr*, N + 1>;

template <std::size_t N>
Attributes<N> inside(const nlattr* attribute) {
  Attributes<N> parts{};
  if (attribute != nullptr) {
    nla_parse_nested(parts.data(), static_cast<int>(N), const_cast<nlattr*>(attribute), nullptr);
  }
  return parts;
}

template <typename T>
std::optional<T> value_of(const nlattr* attribute) {
  if (attribute == nullptr || nla_len(attribute) < static_cast<int>(sizeof(T))) return std::nullopt;
  T value{};
  std::memcpy(&value, nla_data(attribute), sizeof value);
  return value;
}

std::string kind_of(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const auto* text = static_cast<const char*>(nla_data(attribute));
  return {text, ::strnlen(text, static_cast<std::size_t>(nla_len(attribute)))};
}

std::uint32_t parent_of(Direction direction) {
  const std::uint32_t minor =
      direction == Direction::kReceived ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS;
  return TC_H_MAKE(TC_H_CLSACT, minor);
}

tcmsg header_of_hook(int link) {
  tcmsg header{};
  header.tcm_ifindex = link;
  header.tcm_parent = TC_H_CLSACT;
  header.tcm_handle = kHookHandle;
  return header;
}

tcmsg header_of_rule(int link, Direction direction, const TrafficRule& rule) {
  tcmsg header{};
  header.tcm_ifindex = link;
  header.tcm_parent = parent_of(direction);
  header.tcm_handle = rule.number;
  header.tcm_info = TC_H_MAKE(std::uint32_t{rule.preference} << 16, htons(ETH_P_ALL));
  return header;
}

// One action of a rule. `option`: the attribute in which its kind has its settings.
template <std::size_t N>
void put_action(Message& actions, int place, const char* kind, int option,
                const std::array<std::byte, N>& settings) {
  actions.nest(place, [&](Message& action) {
    action.text(TCA_ACT_KIND, kind);
    action.nest(TCA_ACT_OPTIONS, [&](Message& options) {
      options.bytes(option, settings.data(), static_cast<int>(settings.size()));
    });
    action.bytes(TCA_ACT_COOKIE, kCookie.data(), static_cast<int>(kCookie.size()));
  });
}

template <typename T>
std::array<std::byte, sizeof(T)> bytes_of(const T& settings) {
  std::array<std::byte, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &settings, sizeof settings);
  return bytes;
}

// The kernel edits words of four bytes at multiples of four. tc_pedit_sel is followed by its keys.
constexpr std::uint32_t kWord = 4;
constexpr std::uint32_t kSecondHalf = 2;
using OneEdit = std::array<std::byte, sizeof(tc_pedit_sel) + sizeof(tc_pedit_key)>;

// Makes the half word at this offset 1, which was 0.
OneEdit edit_of(std::uint32_t checksum_at) {
  tc_pedit_sel edit{};
  edit.action = TC_ACT_PIPE;
  edit.nkeys = 1;
  tc_pedit_key key{};
  key.off = checksum_at - kSecondHalf;
  key.mask = htonl(0xFFFF0000);  // what is left as it is
  key.val = htonl(1);
  OneEdit bytes{};
  std::memcpy(bytes.data(), &edit, sizeof edit);
  std::memcpy(bytes.data() + sizeof edit, &key, sizeof key);
  return bytes;
}

// A checksum of 0 says that there is none, and `csum` leaves it so. Hence the edit.
void put_actions(Message& actions, const TrafficRule& rule) {
  int place = 1;
  if (rule.checksum_at != 0) {
    put_action(actions, place++, kEditKind, TCA_PEDIT_PARMS, edit_of(rule.checksum_at));
    tc_csum checksum{};
    checksum.action = TC_ACT_PIPE;
    checksum.update_flags = TCA_CSUM_UPDATE_FLAG_UDP;
    put_action(actions, place++, kChecksumKind, TCA_CSUM_PARMS, bytes_of(checksum));
  }
  tc_mirred mirred{};
  mirred.action = TC_ACT_STOLEN;
  mirred.eaction = rule.act == RuleAct::kSend ? TCA_EGRESS_REDIR : TCA_INGRESS_REDIR;
  mirred.ifindex = static_cast<std::uint32_t>(rule.to);
  put_action(actions, place, kRedirect, TCA_MIRRED_PARMS, bytes_of(mirred));
}

using Action = Attributes<TCA_ACT_MAX>;

bool is_marked(const Action& action) {
  const nlattr* cookie = action[TCA_ACT_COOKIE];
  return cookie != nullptr && nla_len(cookie) == static_cast<int>(kCookie.size()) &&
         std::memcmp(nla_data(cookie), kCookie.data(), kCookie.size()) == 0;
}

// 0: it is not as edit_of() makes one. The kernel counts references in the settings.
std::uint32_t read_edit(const Action& action) {
  if (kind_of(action[TCA_ACT_KIND]) != kEditKind) return 0;
  const auto found =
      value_of<OneEdit>(inside<TCA_PEDIT_MAX>(action[TCA_ACT_OPTIONS])[TCA_PEDIT_PARMS]);
  if (!found) return 0;
  tc_pedit_sel edit{};
  tc_pedit_key key{};
  std::memcpy(&edit, found->data(), sizeof edit);
  std::memcpy(&key, found->data() + sizeof edit, sizeof key);
  const std::uint32_t at = key.off + kSecondHalf;
  tc_pedit_key wanted{};
  std::memcpy(&wanted, edit_of(at).data() + sizeof edit, sizeof wanted);
  const bool same = edit.nkeys == 1 && edit.action == TC_ACT_PIPE && key.off % kWord == 0 &&
                    std::memcmp(&key, &wanted, sizeof key) == 0;
  return same ? at : 0;
}

bool is_checksum(const Action& action) {
  if (kind_of(action[TCA_ACT_KIND]) != kChecksumKind) return false;
  const auto found =
      value_of<tc_csum>(inside<TCA_CSUM_MAX>(action[TCA_ACT_OPTIONS])[TCA_CSUM_PARMS]);
  return found && found->action == TC_ACT_PIPE && found->update_flags == TCA_CSUM_UPDATE_FLAG_UDP;
}

void read_redirect(const Action& action, ListedRule& listed) {
  if (kind_of(action[TCA_ACT_KIND]) != kRedirect) return;
  const auto mirred =
      value_of<tc_mirred>(inside<TCA_MIRRED_MAX>(action[TCA_ACT_OPTIONS])[TCA_MIRRED_PARMS]);
  const bool redirects =
      mirred && (mirred->eaction == TCA_EGRESS_REDIR || mirred->eaction == TCA_INGRESS_REDIR);
  if (!redirects) return;
  listed.rule.act = mirred->eaction == TCA_EGRESS_REDIR ? RuleAct::kSend : RuleAct::kReceive;
  listed.rule.to = static_cast<int>(mirred->ifindex);
  listed.marked = is_marked(action);
}

// What the rule does with a frame, and whether it is marked as ours. Ours have one action, or three
// of which the first two fill in a checksum. A rule with others is another's.
void read_actions(const nlattr* actions, ListedRule& listed) {
  const auto list = inside<TCA_ACT_MAX_PRIO>(actions);
  const Action first = inside<TCA_ACT_MAX>(list[1]);
  if (list[2] == nullptr) return read_redirect(first, listed);
  if (list[3] == nullptr || list[4] != nullptr || !is_checksum(inside<TCA_ACT_MAX>(list[2])))
    return;
  listed.rule.checksum_at = read_edit(first);
  if (listed.rule.checksum_at != 0) read_redirect(inside<TCA_ACT_MAX>(list[3]), listed);
}

void read_program(const nlattr* attribute, std::vector<sock_filter>& program) {
  if (attribute == nullptr) return;
  program.resize(static_cast<std::size_t>(nla_len(attribute)) / sizeof(sock_filter));
  std::memcpy(program.data(), nla_data(attribute), program.size() * sizeof(sock_filter));
}

std::optional<ListedRule> read_rule(nlmsghdr* header, int link) {
  Attributes<TCA_MAX> parts{};
  if (header->nlmsg_type != RTM_NEWTFILTER ||
      nlmsg_parse(header, sizeof(tcmsg), parts.data(), TCA_MAX, nullptr) < 0) {
    return std::nullopt;
  }
  const auto* info = static_cast<const tcmsg*>(nlmsg_data(header));
  ListedRule listed{.rule = {.preference = static_cast<std::uint16_t>(info->tcm_info >> 16),
                             .number = info->tcm_handle},
                    .kind = kind_of(parts[TCA_KIND]),
                    .main_chain = value_of<std::uint32_t>(parts[TCA_CHAIN]).value_or(0) == 0};
  // The kernel lists the set of the rules of one preference before its members.
  if (info->tcm_ifindex != link || listed.rule.number == 0) return std::nullopt;
  if (listed.kind != kClassifier) return listed;
  const auto options = inside<TCA_BPF_MAX>(parts[TCA_OPTIONS]);
  read_program(options[TCA_BPF_OPS], listed.rule.program);
  const auto flags = value_of<std::uint32_t>(options[TCA_BPF_FLAGS]).value_or(0);
  const auto hardware = value_of<std::uint32_t>(options[TCA_BPF_FLAGS_GEN]).value_or(0);
  const bool is_verdict = (flags & TCA_BPF_FLAG_ACT_DIRECT) != 0;
  if (!is_verdict) read_actions(options[TCA_BPF_ACT], listed);
  const bool other_frames = (info->tcm_info & 0xFFFF) != htons(ETH_P_ALL);
  // One that is not as we make them is told from ours by having no program.
  if (other_frames || (hardware & TCA_CLS_FLAGS_SKIP_SW) != 0 ||
      is_verdict != (listed.rule.act == RuleAct::kDrop)) {
    listed.rule.program.clear();
  }
  return listed;
}

// `lacks`: what the kernel does not have if it knows no such thing.
Status judge_change(Status status, const char* lacks) {
  if (status || status.error().cause != std::errc::no_such_file_or_directory) return status;
  return fail(Errc::kUnsupported, lacks, ENOENT);
}

}  // namespace

bool operator==(const TrafficRule& one, const TrafficRule& other) {
  const auto same = [](const sock_filter& a, const sock_filter& b) {
    return a.code == b.code && a.jt == b.jt && a.jf == b.jf && a.k == b.k;
  };
  return one.preference == other.preference && one.number == other.number && one.act == other.act &&
         one.to == other.to && one.checksum_at == other.checksum_at &&
         std::ranges::equal(one.program, other.program, same);
}

TrafficRule drop_all(std::uint16_t preference, std::uint32_t number) {
  return {.preference = preference,
          .number = number,
          .program = {{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = TC_ACT_SHOT}},
          .act = RuleAct::kDrop};
}

RuleDifference compare(const std::vector<ListedRule>& found,
                       const std::vector<TrafficRule>& wanted) {
  RuleDifference difference;
  for (const TrafficRule& rule : wanted) {
    const bool there = std::ranges::any_of(found, [&rule](const ListedRule& listed) {
      const bool ours = listed.marked || rule.act == RuleAct::kDrop;
      return ours && listed.main_chain && listed.kind == kClassifier && listed.rule == rule;
    });
    if (!there) difference.missing.push_back(rule);
  }
  for (const ListedRule& listed : found) {
    const auto same_place = [&listed](const TrafficRule& rule) {
      return rule.preference == listed.rule.preference && rule.number == listed.rule.number;
    };
    const auto place = std::ranges::find_if(wanted, same_place);
    if (listed.marked && listed.main_chain) {
      if (place == wanted.end()) difference.unwanted.push_back(listed.rule);
    } else if (place == wanted.end() || !(*place == listed.rule)) {
      difference.foreign.push_back(listed);
    }
  }
  return difference;
}

TrafficRules::TrafficRules(std::unique_ptr<RtnlSocket> socket) : socket_(std::move(socket)) {}
TrafficRules::~TrafficRules() = default;
TrafficRules::TrafficRules(TrafficRules&&) noexcept = default;
TrafficRules& TrafficRules::operator=(TrafficRules&&) noexcept = default;

Result<TrafficRules> TrafficRules::open() {
  auto socket = std::make_unique<RtnlSocket>();
  if (Status connected = socket->connect(); !connected) return std::unexpected(connected.error());
  return TrafficRules(std::move(socket));
}

namespace {

// What the kernel says of the hook of an interface: its kind and how many frames were dropped.
struct Hook {
  std::string kind;
  std::uint64_t dropped = 0;
};

Result<Hook> find_hook(RtnlSocket& socket, int link) {
  const auto answer = socket.ask([link] {
    tcmsg header{};
    header.tcm_ifindex = link;
    return Message::of_traffic(RTM_GETQDISC, NLM_F_DUMP, header);
  });
  if (!answer) return std::unexpected(answer.error());
  for (nlmsghdr* header : *answer) {
    Attributes<TCA_MAX> parts{};
    if (header->nlmsg_type != RTM_NEWQDISC ||
        nlmsg_parse(header, sizeof(tcmsg), parts.data(), TCA_MAX, nullptr) < 0) {
      continue;
    }
    const auto* info = static_cast<const tcmsg*>(nlmsg_data(header));
    if (info->tcm_ifindex != link || info->tcm_parent != TC_H_CLSACT) continue;
    const auto queue =
        value_of<gnet_stats_queue>(inside<TCA_STATS_MAX>(parts[TCA_STATS2])[TCA_STATS_QUEUE]);
    return Hook{.kind = kind_of(parts[TCA_KIND]), .dropped = queue ? queue->drops : 0};
  }
  return Hook{};
}

}  // namespace

Result<std::string> TrafficRules::hook(int link) {
  auto found = find_hook(*socket_, link);
  if (!found) return std::unexpected(found.error());
  return std::move(found->kind);
}

Result<std::uint64_t> TrafficRules::dropped(int link) {
  const auto found = find_hook(*socket_, link);
  if (!found) return std::unexpected(found.error());
  return found->dropped;
}

Status TrafficRules::add_hook(int link) {
  Message message =
      Message::of_traffic(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, header_of_hook(link));
  return judge_change(
      socket_->send(message.text(TCA_KIND, kHookKind)),
      "this kernel lacks the queueing discipline clsact. Load its module sch_ingress");
}

Status TrafficRules::remove_hook(int link) {
  return socket_->send(Message::of_traffic(RTM_DELQDISC, 0, header_of_hook(link)));
}

Result<std::vector<ListedRule>> TrafficRules::list(int link, Direction direction) {
  const auto answer = socket_->ask([link, direction] {
    tcmsg header{};
    header.tcm_ifindex = link;
    header.tcm_parent = parent_of(direction);
    return Message::of_traffic(RTM_GETTFILTER, NLM_F_DUMP, header);
  });
  if (!answer) return std::unexpected(answer.error());
  std::vector<ListedRule> rules;
  for (nlmsghdr* header : *answer) {
    if (auto rule = read_rule(header, link)) rules.push_back(std::move(*rule));
  }
  return rules;
}

Status TrafficRules::set(int link, Direction direction, const TrafficRule& rule) {
  Message message =
      Message::of_traffic(RTM_NEWTFILTER, NLM_F_CREATE, header_of_rule(link, direction, rule));
  message.text(TCA_KIND, kClassifier).nest(TCA_OPTIONS, [&rule](Message& options) {
    const std::size_t bytes = rule.program.size() * sizeof(sock_filter);
    options.u16(TCA_BPF_OPS_LEN, static_cast<std::uint16_t>(rule.program.size()));
    options.bytes(TCA_BPF_OPS, rule.program.data(), static_cast<int>(bytes));
    if (rule.act == RuleAct::kDrop) {
      options.u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
    } else {
      options.nest(TCA_BPF_ACT, [&rule](Message& actions) { put_actions(actions, rule); });
    }
  });
  return judge_change(
      socket_->send(message),
      rule.checksum_at == 0
          ? "this kernel lacks the classifier bpf or the action mirred. Load their modules cls_bpf "
            "and act_mirred"
          : "this kernel lacks the action pedit or csum. Load their modules act_pedit and "
            "act_csum");
}

Status TrafficRules::remove(int link, Direction direction, const TrafficRule& rule) {
  Message message = Message::of_traffic(RTM_DELTFILTER, 0, header_of_rule(link, direction, rule));
  return socket_->send(message.text(TCA_KIND, kClassifier));
}

}  // namespace paravane::ethernet
