// MachineLine gives the engine (the unprivileged process) the hardware inventory of this host. It
// requests the inventory from the keeper, because the engine has no permission to open netlink or
// an RDMA device.
//
// A request is the text "machine", "dcb NIC", or "stats DEVICE PORT". The response is one line of
// the API's JSON: a machine, the Data Center Bridging of a NIC, the statistics of a device, or
// {"problem": TEXT}.
//
// Control thread only.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "privsep/keeper_question.h"
#include "privsep/machine_looker.h"

namespace paravane::privsep {

class MachineLine final : public MachineLooker {
 public:
  // `keeper` outlives us.
  MachineLine(const ProcessLink& keeper, OtherNote other_note)
      : keeper_(keeper), other_note_(std::move(other_note)) {}

  Result<model::Machine> look() override;
  Result<model::NicDcb> read_dcb(const std::string& nic) override;
  Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) override;

 private:
  template <typename T>
  Result<T> ask(std::string question, Result<T> (*read)(const nlohmann::json&));

  const ProcessLink& keeper_;
  OtherNote other_note_;
  std::uint64_t next_ = 1;  // the number of a question, which its report has too
};

// The keeper's side: returns the response to a request. The request is untrusted.
std::string answer_machine_question(std::string_view text, MachineLooker& looker);

}  // namespace paravane::privsep
