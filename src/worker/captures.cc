#include "worker/captures.h"

#include <utility>

namespace paravane::worker {

Captures::Watch::Watch(const Place& place, capture::Capture& capture)
    : adapter_(*place.adapter),
      sniffer_(sniff::SnifferConfig{.interface = place.interface,
                                    .mac = place.mac,
                                    .keep_bytes = capture.spec().snaplen,
                                    .clock = capture::wall_clock_ns},
               capture.ring()) {
  adapter_.set_observer(&sniffer_);
}

Captures::Watch::~Watch() {
  adapter_.set_observer(nullptr);
}

void Captures::start(std::shared_ptr<capture::Capture> capture, const std::vector<Place>& places) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (const Place& place : places) {
    forget(*place.adapter);
    watches.push_back(std::make_unique<Watch>(place, *capture));
  }
  running_.add(std::move(capture), std::move(watches));
}

void Captures::forget(const verbs::Adapter& adapter) {
  running_.forget_if([&adapter](const Watch& one) { return &one.adapter() == &adapter; });
}

bool Captures::turn(Instant now, verbs::Budget& /*budget*/) {
  return running_.end_unread(now);
}

}  // namespace paravane::worker
