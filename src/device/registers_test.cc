#include "device/registers.h"

#include <gtest/gtest.h>

#include "abi/registers.h"

namespace paravane::device {
namespace {

struct RecordingActions final : RegisterActions {
  std::uint32_t load_region(GuestAddr at) override {
    region = at.value;
    return kErrorBadAddress;
  }
  std::uint32_t control(std::uint32_t value) override {
    last_control = value;
    return kErrorNone;
  }
  std::uint32_t request() override {
    ++requests;
    return kErrorInvalid;
  }
  std::uint64_t region = 0;
  std::uint32_t last_control = 99;
  int requests = 0;
};

class RegistersTest : public ::testing::Test {
 protected:
  vfio_user::Interrupts interrupts_{abi::kInterruptVectors};
  InterruptLines lines_{interrupts_};
  RecordingActions actions_;
  Registers registers_{20, {1, 2, 3, 4, 5, 6}, lines_, actions_};
};

TEST_F(RegistersTest, C02_VersionIsAlwaysThere) {
  EXPECT_EQ(registers_.read(abi::kRegVersion), 20u);
  registers_.write(abi::kRegVersion, 7);
  EXPECT_EQ(registers_.read(abi::kRegVersion), 20u);
  registers_.reset();
  EXPECT_EQ(registers_.read(abi::kRegVersion), 20u);
}

TEST_F(RegistersTest, TheRegionsAddressComesInTwoHalves) {
  registers_.write(abi::kRegDsrLow, 0x1000'2000);
  EXPECT_EQ(actions_.region, 0u);
  registers_.write(abi::kRegDsrHigh, 0x3);
  EXPECT_EQ(actions_.region, 0x3'1000'2000u);
}

TEST_F(RegistersTest, ErrBelongsToTheLastAction) {
  EXPECT_NE(registers_.read(abi::kRegError), 0u);
  registers_.write(abi::kRegControl, abi::kControlActivate);
  EXPECT_EQ(registers_.read(abi::kRegError), kErrorNone);
  registers_.write(abi::kRegRequest, 0);
  EXPECT_EQ(registers_.read(abi::kRegError), kErrorInvalid);
  EXPECT_EQ(actions_.requests, 1);
}

TEST_F(RegistersTest, C10_AMaskedVectorFiresWhenItIsUnmasked) {
  EXPECT_EQ(registers_.read(abi::kRegInterruptMask), 0xFFFF'FFFFu);
  lines_.raise(abi::kVectorAsync);
  EXPECT_EQ(interrupts_.signalled(abi::kVectorAsync), 0u);
  registers_.write(abi::kRegInterruptMask, ~2u);
  EXPECT_EQ(interrupts_.signalled(abi::kVectorAsync), 1u);
  registers_.write(abi::kRegInterruptMask, 0);
  EXPECT_EQ(interrupts_.signalled(abi::kVectorAsync), 1u) << "once";
}

TEST_F(RegistersTest, C12_ReadingTheCausesClearsThem) {
  lines_.raise(abi::kVectorResponse);
  lines_.raise(abi::kVectorCompletion);
  EXPECT_EQ(registers_.read(abi::kRegInterruptCause), 5u);
  EXPECT_EQ(registers_.read(abi::kRegInterruptCause), 0u);
}

TEST_F(RegistersTest, MacAddressCanBeReadAndWritten) {
  EXPECT_EQ(registers_.read(abi::kRegMacLow), 0x0403'0201u);
  EXPECT_EQ(registers_.read(abi::kRegMacHigh), 0x0605u);
  registers_.write(abi::kRegMacLow, 0x1122'3344);
  registers_.reset();
  EXPECT_EQ(registers_.read(abi::kRegMacLow), 0x1122'3344u);
}

TEST_F(RegistersTest, UndefinedOffsetsReadZero) {
  for (std::uint64_t offset = abi::kRegisterBytes; offset < 4096; offset += 4) {
    registers_.write(offset, 0xFFFF'FFFF);
    EXPECT_EQ(registers_.read(offset), 0u);
  }
}

}  // namespace
}  // namespace paravane::device
