#include "testing/fake_trunk.h"

#include "testing/fake_trunk_end.h"

namespace paravane::fake {

std::array<std::unique_ptr<FakeTrunk>, 2> FakeTrunk::make_pair() {
  const std::array ends{std::make_shared<FakeTrunkEnd>(), std::make_shared<FakeTrunkEnd>()};
  ends[0]->peer = ends[1];
  ends[1]->peer = ends[0];
  return {std::unique_ptr<FakeTrunk>(new FakeTrunk(ends[0])),
          std::unique_ptr<FakeTrunk>(new FakeTrunk(ends[1]))};
}

FakeTrunk::~FakeTrunk() = default;

std::unique_ptr<transport_hca::TrunkPort> FakeTrunk::port() {
  return std::make_unique<FakeTrunkPort>(end_);
}

void FakeTrunk::fail() {
  end_->failed = true;
  end_->complete({.kind = TrunkCompletion::Kind::kFailed});
}

void FakeTrunk::hang() {
  end_->hangs = true;
}

std::uint64_t FakeTrunk::sent() const {
  return end_->sent;
}

std::uint64_t FakeTrunk::sent_empty() const {
  return end_->sent_empty;
}

std::uint64_t FakeTrunk::waited() const {
  return end_->waited;
}

}  // namespace paravane::fake
