// TrunkFabric connects the worker with the TrunkMaker. It passes the events of the channels over
// TCP to the maker, and the trunks of the maker to the worker. The configuration decides whether
// RDMA adapters are used at all.
//
// Control thread, except for TrunkListener, which the worker calls.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "host/hca_choice.h"
#include "model/hca_memory.h"
#include "settings/config.h"
#include "transport/hca/trunk_maker.h"
#include "worker/port_table.h"
#include "worker/trunk_listener.h"
#include "worker/worker.h"

namespace paravane::daemon {

// Whether the configuration lets this host use RDMA adapters for channels.
bool may_use_hca(const settings::Config& config);

class TrunkFabric final : public worker::TrunkListener {
 public:
  // `ports` is used on the worker's thread only. All outlive the object. Errors: kIo.
  static Result<std::unique_ptr<TrunkFabric>> start(const settings::ChannelConfig& config,
                                                    transport_hca::OpenTrunkDevice open,
                                                    worker::Worker& worker,
                                                    worker::PortTable& ports);
  // REQUIRES: the worker's thread runs.
  ~TrunkFabric() override;
  TrunkFabric(const TrunkFabric&) = delete;
  TrunkFabric& operator=(const TrunkFabric&) = delete;

  // The adapter that channels go over if the configuration allows it.
  void set_hca(const host::HcaChoice& choice);
  // Whether such an adapter is set.
  bool has_hca() const { return !device_.empty(); }
  // The memory of that adapter's buffers.
  model::HcaMemory memory() const;

  // ---- TrunkListener ----
  void on_channel(verbs::HostId host, bool leads) override;
  void on_channel_lost(verbs::HostId host) override;
  void on_trunk_offer(verbs::HostId host, const wire::TrunkOffer& offer) override;
  void on_trunk_ready(verbs::HostId host, const wire::TrunkReady& ready) override;
  void on_trunk_lost(verbs::HostId host, std::uint64_t number, const std::string& reason) override;

 private:
  TrunkFabric(const settings::ChannelConfig& config, worker::Worker& worker,
              worker::PortTable& ports)
      : config_(config), worker_(worker), ports_(ports) {}
  transport_hca::TrunkMaker::Events events();
  void give(verbs::HostId host, transport_hca::MadeTrunk made,
            const transport_hca::TrunkAdapter& adapter);

  const settings::ChannelConfig& config_;
  worker::Worker& worker_;
  worker::PortTable& ports_;
  std::string device_;  // that set_hca() has set; empty: none
  std::unique_ptr<transport_hca::TrunkMaker> maker_;
};

}  // namespace paravane::daemon
