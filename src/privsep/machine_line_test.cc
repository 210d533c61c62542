// Questions and reports about the machine between the two processes.

#include "privsep/machine_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/machine_json.h"

namespace paravane::privsep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeLooker final : public MachineLooker {
 public:
  Result<model::Machine> look() override {
    if (blind) return fail(Errc::kIo, "it is dark");
    return machine;
  }
  Result<model::NicDcb> read_dcb(const std::string& nic) override {
    asked.push_back(nic);
    return model::NicDcb{.mode = model::DcbxMode::kIeee, .pfc = {{.priorities = 8}}};
  }
  Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) override {
    asked.push_back(device + "/" + std::to_string(port));
    return model::RdmaStats{.name = "", .counters = {{"port_rcv_packets", 4}}};
  }
  model::Machine machine{.nics = {{.linux_name = "eth1", .description = "\"Ünïcode\"\n"}},
                         .rdma_devices = {{.linux_name = "rxe0"}}};
  bool blind = false;
  std::vector<std::string> asked;
};

class MachineLineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = ProcessLink::make();
    ASSERT_TRUE(ends);
    engine_.emplace(std::move(ends->first));
    keeper_.emplace(std::move(ends->second));
    line_.emplace(*engine_, [this](const ProcessLink::NoteWithSocket& received) {
      others_.push_back(received.note.text);
    });
  }
  // The keeper, for one question. What it says before the report.
  std::jthread keep(std::vector<Note> before = {}) {
    return std::jthread([this, before = std::move(before)] {
      std::optional<Note> question;
      while (!question) {
        const auto note = keeper_->receive();
        if (!note) return;
        question = *note;
      }
      for (const Note& note : before) keeper_->send(note);
      keeper_->send({.kind = Note::Kind::kMachineReport,
                     .text = answer_machine_question(question->text, looker_)});
    });
  }

  std::optional<ProcessLink> engine_;
  std::optional<ProcessLink> keeper_;
  FakeLooker looker_;
  std::vector<std::string> others_;
  std::optional<MachineLine> line_;
};

TEST_F(MachineLineTest, CarriesALook) {
  const std::jthread keeper = keep({{.kind = Note::Kind::kLogLevel, .text = "debug"},
                                    {.kind = Note::Kind::kMachineReport, .text = "77 {}"},
                                    {.kind = Note::Kind::kMachineReport, .text = "junk"}});
  const auto seen = line_->look();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->rdma_devices, looker_.machine.rdma_devices);
  ASSERT_EQ(seen->nics.size(), 1u);
  EXPECT_EQ(seen->nics[0].linux_name, "eth1");
  EXPECT_EQ(seen->nics[0].description, "\"??n??code\"\n");  // notes are ASCII
  EXPECT_THAT(others_, ElementsAre("debug"));
}

TEST_F(MachineLineTest, CarriesStats) {
  const std::jthread keeper = keep();
  const auto stats = line_->read_stats("rxe0", 1);
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->counters.at("port_rcv_packets"), 4u);
  EXPECT_THAT(looker_.asked, ElementsAre("rxe0/1"));
}

TEST_F(MachineLineTest, CarriesDcb) {
  const std::jthread keeper = keep();
  const auto dcb = line_->read_dcb("eth1");
  ASSERT_TRUE(dcb) << dcb.error().message;
  EXPECT_EQ(dcb->mode, model::DcbxMode::kIeee);
  ASSERT_TRUE(dcb->pfc);
  EXPECT_EQ(dcb->pfc->priorities, 8);
  EXPECT_THAT(looker_.asked, ElementsAre("eth1"));
}

TEST_F(MachineLineTest, CarriesWhyNothingIsSeen) {
  looker_.blind = true;
  const std::jthread keeper = keep();
  EXPECT_EQ(line_->look().error().message, "it is dark");
}

TEST_F(MachineLineTest, SaysThatTheKeeperIsGone) {
  keeper_->close();
  EXPECT_FALSE(line_->look());
}

// The largest machine that there may be goes into a note.
TEST_F(MachineLineTest, CarriesALargeMachineWhole) {
  const std::string text(30, 'x');
  looker_.machine.nics.assign(model::kMaxNics, {.identity = "pci 0000:00:00.0",
                                                .linux_name = "interface12345",
                                                .pci = "0000:00:00.0",
                                                .driver = text,
                                                .mac = "02:00:00:00:00:00",
                                                .description = text + text + text + text,
                                                .pause = {{.negotiated = {{}}}},
                                                .pfc = 0xFF});
  looker_.machine.rdma_devices.assign(
      model::kMaxRdmaDevices,
      {.identity = text, .linux_name = text, .driver = text, .description = text + text + text});
  const std::jthread keeper = keep();
  const auto seen = line_->look();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(*seen, looker_.machine);
}

TEST_F(MachineLineTest, AQuestionThatBreaksARuleIsRefused) {
  for (const char* text : {"",
                           "1",
                           "1 ",
                           "machine",
                           "1 machines",
                           "1 stats",
                           "1 stats rxe0",
                           "1 stats rxe0 ",
                           "1 stats  1",
                           "1 stats ../rxe0 1",
                           "1 stats rxe0 x",
                           "1 stats rxe0 1 2",
                           "1 stats .. 1",
                           "1 dcb",
                           "1 dcb ",
                           "1 dcb a/b",
                           "1 dcb ..",
                           "1 dcb eth1 eth2",
                           "99999999999999999999999999999 machine",
                           "1 stats rxe0 99999999999"}) {
    EXPECT_THAT(answer_machine_question(text, looker_), HasSubstr("refused")) << text;
  }
  EXPECT_TRUE(looker_.asked.empty());
  EXPECT_THAT(answer_machine_question("7 machine", looker_), testing::StartsWith("7 {"));
}

TEST_F(MachineLineTest, AMachineThatIsTooLargeIsSaid) {
  looker_.machine.nics[0].description = std::string(Note::kMaxLongText, 'x');
  EXPECT_THAT(answer_machine_question("7 machine", looker_), HasSubstr("too many devices"));
}

}  // namespace
}  // namespace paravane::privsep
