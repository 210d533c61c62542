#include "ethernet/nic_dcb.h"

#include <linux/dcbnl.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cstring>

#include "ethernet/rtnl_socket.h"

namespace paravane::ethernet {
namespace {

static_assert(IEEE_8021QAZ_MAX_TCS == std::tuple_size_v<DcbBytes>);

template <typename T>
std::optional<T> value_of(const nlattr* attribute) {
  if (attribute == nullptr || nla_len(attribute) < static_cast<int>(sizeof(T))) return std::nullopt;
  T value{};
  std::memcpy(&value, nla_data(attribute), sizeof value);
  return value;
}

template <std::size_t N>
void parse_inside(const nlattr* attribute, std::array<nlattr*, N>& parts) {
  if (attribute == nullptr) return;
  nla_parse_nested(parts.data(), static_cast<int>(N) - 1, const_cast<nlattr*>(attribute), nullptr);
}

DcbEts ets_of(const ieee_ets& told) {
  return {.willing = told.willing != 0,
          .classes = told.ets_cap,
          .credit_based_shaper = told.cbs != 0,
          .tx_percent = std::to_array(told.tc_tx_bw),
          .rx_percent = std::to_array(told.tc_rx_bw),
          .algorithms = std::to_array(told.tc_tsa),
          .class_of_priority = std::to_array(told.prio_tc),
          .recommended_percent = std::to_array(told.tc_reco_bw),
          .recommended_algorithms = std::to_array(told.tc_reco_tsa),
          .recommended_class_of_priority = std::to_array(told.reco_prio_tc)};
}

DcbPfc pfc_of(const ieee_pfc& told) {
  DcbPfc pfc{.classes = told.pfc_cap,
             .priorities = told.pfc_en,
             .bypasses_macsec = told.mbc != 0,
             .delay = told.delay};
  std::ranges::copy(told.requests, pfc.sent.begin());
  std::ranges::copy(told.indications, pfc.received.begin());
  return pfc;
}

void read_apps(const nlattr* table, NicDcb& dcb) {
  if (table == nullptr) return;
  int left = 0;
  nlattr* one = nullptr;
  nla_for_each_nested(one, table, left) {
    const auto app = value_of<dcb_app>(one);
    if (!app || nla_type(one) != DCB_ATTR_IEEE_APP) continue;
    dcb.apps.push_back(
        {.selector = app->selector, .protocol = app->protocol, .priority = app->priority});
  }
}

// IEEE 802.1Qaz, the standard.
void read_ieee(const nlattr* ieee, NicDcb& dcb) {
  std::array<nlattr*, DCB_ATTR_IEEE_MAX + 1> parts{};
  parse_inside(ieee, parts);
  if (const auto ets = value_of<ieee_ets>(parts[DCB_ATTR_IEEE_ETS])) dcb.ets = ets_of(*ets);
  if (const auto pfc = value_of<ieee_pfc>(parts[DCB_ATTR_IEEE_PFC])) dcb.pfc = pfc_of(*pfc);
  read_apps(parts[DCB_ATTR_IEEE_APP_TABLE], dcb);
}

// What came before the standard, which some drivers have alone. Any value but 0 is enabled, in one
// direction or both.
void read_cee(const nlattr* cee, NicDcb& dcb) {
  std::array<nlattr*, DCB_ATTR_CEE_MAX + 1> parts{};
  parse_inside(cee, parts);
  if (parts[DCB_ATTR_CEE_PFC] == nullptr || dcb.pfc) return;
  std::array<nlattr*, DCB_PFC_UP_ATTR_MAX + 1> priorities{};
  parse_inside(parts[DCB_ATTR_CEE_PFC], priorities);
  DcbPfc pfc;
  for (unsigned i = 0; i < IEEE_8021QAZ_MAX_TCS; ++i) {
    const auto enabled = value_of<std::uint8_t>(priorities.at(DCB_PFC_UP_ATTR_0 + i));
    if (enabled.value_or(0) != 0) pfc.priorities |= static_cast<std::uint8_t>(1U << i);
  }
  dcb.pfc = pfc;
}

}  // namespace

void add_dcb_answer(nlmsghdr* answer, NicDcb& dcb) {
  std::array<nlattr*, DCB_ATTR_MAX + 1> parts{};
  if (nlmsg_parse(answer, sizeof(dcbmsg), parts.data(), DCB_ATTR_MAX, nullptr) < 0) return;
  if (const auto dcbx = value_of<std::uint8_t>(parts[DCB_ATTR_DCBX])) dcb.dcbx = *dcbx;
  read_ieee(parts[DCB_ATTR_IEEE], dcb);
  read_cee(parts[DCB_ATTR_CEE], dcb);
}

Result<NicDcb> read_dcb(const std::string& nic) {
  RtnlSocket socket;
  if (const Status connected = socket.connect(); !connected) {
    return std::unexpected(connected.error());
  }
  NicDcb dcb;
  const auto ask = [&](std::uint8_t command) -> Status {
    const auto answers = socket.ask([&] {
      Message question = Message::of_dcb(command);
      question.text(DCB_ATTR_IFNAME, nic);
      return question;
    });
    if (!answers) return std::unexpected(answers.error());
    for (nlmsghdr* answer : *answers) add_dcb_answer(answer, dcb);
    return {};
  };
  // The kernel answers the first for each driver that has any DCB.
  if (const Status told = ask(DCB_CMD_IEEE_GET); !told) return std::unexpected(told.error());
  static_cast<void>(ask(DCB_CMD_GDCBX));
  if (!dcb.pfc) static_cast<void>(ask(DCB_CMD_CEE_GET));
  return dcb;
}

}  // namespace paravane::ethernet
