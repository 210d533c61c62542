#include "transport/hca/registered_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "testing/lanes_rig.h"

namespace paravane::transport_hca {
namespace {

using fake::EngineBuffer;
using fake::EngineVm;

class KeyOnly final : public MemoryRegistration {
 public:
  explicit KeyOnly(std::uint32_t key) : key_(key) {}
  std::uint32_t key() const override { return key_; }

 private:
  std::uint32_t key_;
};

class RegisteredMemoryTest : public testing::Test {
 protected:
  // As the other thread registers what is wanted: the VM's files, or what it takes for them.
  void make(std::span<std::byte> instead = {}) {
    ASSERT_FALSE(wanted_.empty());
    RegisteredMemory::Made made{.wanted = std::move(wanted_.back()), .regions = {}};
    wanted_.pop_back();
    for (const GuestMemory::MappedFile& file : made.wanted.files) {
      made.regions.push_back({.bytes = instead.empty() ? file.bytes : instead,
                              .registration = std::make_unique<KeyOnly>(++keys_)});
    }
    memory_->take(std::move(made));
  }
  static ExtentList extents_of(EngineVm& vm, const EngineBuffer& buffer) {
    ExtentList extents;
    EXPECT_EQ(vm.adapter().regions().resolve(vm.pd(), buffer.key, buffer.start, buffer.length,
                                             verbs::kAccessRemoteWrite, extents),
              verbs::AccessVerdict::kOk);
    return extents;
  }
  std::uint32_t key_of(EngineVm& vm, const ExtentList& extents) {
    std::vector<LanePlace> places;
    memory_->find(vm.adapter().id(), extents, places);
    return places.front().key;
  }

  fake::LanesRig rig_;
  EngineVm& a_ = rig_.a();
  EngineVm& b_ = rig_.b();
  std::vector<RegisteredMemory::Wanted> wanted_;
  std::size_t ended_ = 0;  // regions
  std::uint32_t keys_ = 0;
  std::shared_ptr<RegisteredMemory> memory_ =
      std::make_shared<RegisteredMemory>(RegisteredMemory::Acts{
          .make = [this](RegisteredMemory::Wanted wanted) { wanted_.push_back(std::move(wanted)); },
          .end =
              [this](const std::vector<RegisteredMemory::Region>& regions) {
                ended_ += regions.size();
              }});
};

TEST_F(RegisteredMemoryTest, IsReachedWhenItWasRegistered) {
  const ExtentList extents = extents_of(a_, a_.buffer(1 << 16));
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  EXPECT_EQ(wanted_.size(), 1u);
  make();
  EXPECT_TRUE(memory_->reaches(a_.adapter(), extents));
  EXPECT_EQ(key_of(a_, extents), 1u);
}

// The memory of a VM may be mapped where that of another one was before.
TEST_F(RegisteredMemoryTest, OfAnotherVmIsNotTaken) {
  ASSERT_LT(a_.adapter().id(), b_.adapter().id());
  const EngineBuffer buffer = b_.buffer(1 << 16);
  const ExtentList extents = extents_of(b_, buffer);
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents_of(a_, a_.buffer(1 << 16))));
  EXPECT_FALSE(memory_->reaches(b_.adapter(), extents));
  RegisteredMemory::Wanted of_b = std::move(wanted_.back());
  wanted_.pop_back();
  make(of_b.files.front().bytes);
  EXPECT_FALSE(memory_->reaches(b_.adapter(), extents));
  std::vector<std::byte> elsewhere(4096);
  wanted_.push_back(std::move(of_b));
  make(elsewhere);
  EXPECT_FALSE(memory_->reaches(b_.adapter(), extents));
}

// The registration ends at once, so the memory of a VM that is shut down is not locked.
TEST_F(RegisteredMemoryTest, EndsWhenItIsUnmapped) {
  const ExtentList extents = extents_of(a_, a_.buffer(1 << 16));
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  make();
  EXPECT_EQ(ended_, 0u);
  a_.memory().unmap_all();
  EXPECT_EQ(ended_, 1u);
}

// Adapters' numbers are used again.
TEST_F(RegisteredMemoryTest, OfAPredecessorIsNotTaken) {
  const ExtentList extents = extents_of(a_, a_.buffer(1 << 16));
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  memory_->forget(a_.adapter().id());
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  ASSERT_EQ(wanted_.size(), 2u);
  RegisteredMemory::Wanted later = std::move(wanted_.back());
  wanted_.pop_back();
  make();
  EXPECT_EQ(ended_, 1u);
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  wanted_.push_back(std::move(later));
  make();
  EXPECT_TRUE(memory_->reaches(a_.adapter(), extents));
}

TEST_F(RegisteredMemoryTest, ThatIsMadeTooLateEnds) {
  const ExtentList extents = extents_of(a_, a_.buffer(1 << 16));
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents));
  a_.memory().unmap_all();
  a_.ram().show(a_.memory());
  make();
  EXPECT_EQ(ended_, 1u);
  EXPECT_FALSE(memory_->reaches(a_.adapter(), extents_of(a_, a_.buffer(1 << 16))));
  make();
  EXPECT_TRUE(memory_->reaches(a_.adapter(), extents_of(a_, a_.buffer(1 << 16))));
}

}  // namespace
}  // namespace paravane::transport_hca
