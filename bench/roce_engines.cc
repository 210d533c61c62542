#include "bench/roce_engines.h"

#include <utility>

#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kDepth = 64;    // requests outstanding
constexpr unsigned kMostTurns = 1'000;  // without a completion

wire::roce::MacBytes mac(unsigned side) {
  return {0x52, 0x54, 0, 0, 0, static_cast<std::uint8_t>(side + 1)};
}

}  // namespace

RoceEngines::RoceEngines(const RoceCase& what)
    : case_(what), pipe_(what.cuts), data_{a().buffer(64 << 10), b().buffer(64 << 10)} {
  for (unsigned side = 0; side < 2; ++side) {
    transports_.at(side).attach(vm(side).adapter(), mac(side), pipe_.door(side));
    qps_.at(side) = vm(side).queue_pair(verbs::QpType::kReliableConnected, true);
  }
  directory().set_detour([this](const fabric::Directory::Leg& leg) {
    return &transports_.at(static_cast<std::size_t>(std::to_underlying(leg.from)));
  });
  directory().detours_changed();
  for (unsigned side = 0; side < 2; ++side) {
    verbs::QpAttributes attributes = fake::default_attributes();
    attributes.path_mtu = case_.messages.mtu == 4096 ? 5 : 3;
    attributes.av.dmac = mac(1 - side);
    bring_up_to(*qps_.at(side), verbs::QpState::kReadyToSend, vm(1 - side).gid(),
                qps_.at(1 - side)->qp->number(), attributes);
    vm(side).fill(data_.at(side), static_cast<std::uint8_t>(side));
  }
}

RoceEngines::~RoceEngines() {
  for (unsigned side = 0; side < 2; ++side) {
    qps_.at(side).reset();
    transports_.at(side).detach(vm(side).adapter());
  }
}

RoceSeconds RoceEngines::run() {
  RoceSeconds seconds{};
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  for (unsigned idle = 0; done < case_.count; ++idle) {
    demand(idle < kMostTurns, "the engines do not go on");
    for (; posted < case_.count && posted - done < kDepth; ++posted) post();
    for (unsigned side = 0; side < 2; ++side) {
      const unsigned role = case_.messages.reads ? 1 - side : side;
      seconds.at(role) += turn_of(side);
      pipe_.carry();
    }
    fake::RecordingCq& completions = qps_[0]->sends;
    for (const verbs::Completion& completion : completions.all()) {
      demand(completion.status == verbs::WcStatus::kSuccess, "a request ended with an error");
    }
    if (completions.size() > 0) idle = 0;
    done += completions.size();
    completions.clear();
  }
  return seconds;
}

void RoceEngines::check() {
  const std::uint64_t bytes = case_.messages.bytes;
  demand(a().read(data_[0], 0, bytes) == b().read(data_[1], 0, bytes),
         "bytes at the peer differ from their source");
  for (unsigned side = 0; side < 2; ++side) {
    const auto* counters = transports_.at(side).counters_of(verbs::AdapterId{side});
    demand(counters->retransmitted.value() == 0, "packets were sent again");
  }
}

void RoceEngines::post() {
  const verbs::Sge sge = data_[0].sge(0, case_.messages.bytes);
  const auto make = case_.messages.reads ? fake::read_request : fake::write_request;
  qps_[0]->post(make(1, {sge}, data_[1].start, data_[1].key));
}

double RoceEngines::turn_of(unsigned side) {
  const Stopwatch watch;
  verbs::Budget share{.bytes = 1 << 20, .operations = 256};
  vm(side).adapter().run(now(), share);
  verbs::Budget budget{.bytes = 1 << 20, .operations = 256};
  transports_.at(side).poll(now(), budget);
  return watch.seconds();
}

}  // namespace paravane::bench
