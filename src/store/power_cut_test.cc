// The power goes at any moment of a change: what was acknowledged is there afterwards, and
// of what was not, all or nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "store/power_cut_disk_test.h"
#include "store/store.h"
#include "testing/temp_dir.h"

namespace paravane::store {
namespace {

using testing::AnyOf;
using testing::Eq;

using Vms = std::vector<model::VmSpec>;

model::VmSpec cut_spec_of(const std::string& name) {
  model::VmSpec spec;
  spec.name = name;
  spec.adapters[0].mac = model::mac_for_name(name);
  return spec;
}

class PowerCutTest : public testing::Test {
 protected:
  // What a daemon finds that starts after the power came back.
  Vms found(const PowerCutDisk::Files& files) {
    const TempDir directory;
    for (const auto& [name, bytes] : files) {
      std::ofstream(directory.path() / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    const auto store = Store::open(directory / "paravane.db");
    if (!store) {
      ADD_FAILURE() << store.error().message;
      return {};
    }
    const auto vms = (*store)->vms();
    EXPECT_TRUE(vms) << vms.error().message;
    return vms ? *vms : Vms();
  }
  void look() {
    for (const PowerCutDisk::Files& files : disk_.after_power_cut()) {
      ASSERT_THAT(found(files), AnyOf(Eq(before_), Eq(after_)));
      ++cuts_;
    }
  }
  // One change, with the power cut at each of its steps and after its answer.
  template <typename Act>
  void change(Vms after, Act act) {
    after_ = std::move(after);
    disk_.watch([this] {
      if (!HasFatalFailure()) look();
    });
    auto transaction = store_->begin();
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(act(*transaction));
    ASSERT_TRUE(transaction->commit());
    disk_.watch({});
    before_ = after_;  // it has been acknowledged
    look();
  }

  TempDir directory_;
  PowerCutDisk disk_{directory_.path()};
  std::unique_ptr<Store> store_ = std::move(*Store::open(directory_ / "paravane.db"));
  Vms before_;
  Vms after_;
  int cuts_ = 0;
};

TEST_F(PowerCutTest, AnAcknowledgedChangeIsThereAndAnotherIsWholeOrNotThere) {
  const model::VmSpec a = cut_spec_of("a");
  const model::VmSpec b = cut_spec_of("b");
  model::VmSpec wider = a;
  wider.adapters.push_back({.number = 2, .mac = model::mac_for_name("a/2")});
  change({a}, [&](auto& to) { return to.insert(a); });
  change({a, b}, [&](auto& to) { return to.insert(b); });
  change({wider, b}, [&](auto& to) { return to.replace(wider); });
  change({wider}, [&](auto& to) { return to.remove("b"); });
  change({}, [&](auto& to) { return to.remove("a"); });
  EXPECT_GT(cuts_, 100);
  RecordProperty("cuts", cuts_);
}

}  // namespace
}  // namespace paravane::store
