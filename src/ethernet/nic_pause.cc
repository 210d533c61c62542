#include "ethernet/nic_pause.h"

#include <linux/ethtool.h>

#include "ethernet/ethtool.h"

namespace paravane::ethernet {

PauseDirections negotiated_pause(std::uint32_t own, std::uint32_t peer) {
  const bool own_pause = (own & ADVERTISED_Pause) != 0;
  const bool peer_pause = (peer & ADVERTISED_Pause) != 0;
  if (own_pause && peer_pause) return {.rx = true, .tx = true};
  const bool asymmetric = (own & peer & ADVERTISED_Asym_Pause) != 0;
  return {.rx = asymmetric && own_pause, .tx = asymmetric && peer_pause};
}

std::optional<NicPause> read_pause(const Ethtool& ethtool, const std::string& nic) {
  ethtool_pauseparam parameters{};
  parameters.cmd = ETHTOOL_GPAUSEPARAM;
  if (!ethtool.ask(nic, &parameters)) return std::nullopt;
  NicPause pause{.set = {.rx = parameters.rx_pause != 0, .tx = parameters.tx_pause != 0},
                 .auto_negotiation = parameters.autoneg != 0};
  ethtool_cmd settings{};  // its words have the bits of pause frames, if not those of new speeds
  settings.cmd = ETHTOOL_GSET;
  const bool is_told = pause.auto_negotiation && ethtool.ask(nic, &settings);
  if (is_told && settings.autoneg != 0 && settings.lp_advertising != 0) {
    pause.negotiated = negotiated_pause(settings.advertising, settings.lp_advertising);
  }
  return pause;
}

}  // namespace paravane::ethernet
