#include "nbd/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "testing/nbd_program.h"

namespace paravane::nbd {
namespace {

using fake::Bytes;
using fake::operator+;
using fake::bytes_of_text;
using fake::joined;
using fake::option_of;
using fake::query_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using State = Handshake::State;

class HandshakeTest : public testing::Test {
 protected:
  // As a connection gives it bytes. What is left when it is over, or asks, is not taken.
  std::size_t hear(const Bytes& bytes) {
    std::size_t at = 0;
    while (hands_.state() == State::kTalking && bytes.size() - at >= hands_.wanted()) {
      const std::size_t wanted = hands_.wanted();
      EXPECT_GT(wanted, 0U);
      EXPECT_LE(wanted, Handshake::kMostOptionBytes);
      hands_.take(std::span(bytes).subspan(at, wanted));
      at += wanted;
    }
    return at;
  }
  void begin(std::uint32_t flags = kFixedNewstyle | kNoZeroes) {
    hear(joined(Be32(flags)));
    hands_.out().clear();
  }
  Bytes said() { return std::exchange(hands_.out(), {}); }
  // The answers to an option.
  std::vector<fake::OptionAnswer> ask(Option option, const Bytes& data = {}) {
    hear(option_of(option, data));
    return answers();
  }
  std::vector<fake::OptionAnswer> answers() {
    std::vector<fake::OptionAnswer> all;
    Bytes bytes = said();
    while (bytes.size() >= sizeof(OptionReplyHeader)) {
      std::array<std::byte, sizeof(OptionReplyHeader)> head{};
      std::copy_n(bytes.begin(), head.size(), head.begin());
      const auto header = std::bit_cast<OptionReplyHeader>(head);
      EXPECT_EQ(header.magic.get(), kOptionReplyMagic);
      const auto begin = bytes.begin() + std::ssize(head);
      const auto end = begin + header.length.get();
      all.push_back(
          {header.option.get(), static_cast<OptionReply>(header.type.get()), Bytes(begin, end)});
      bytes.erase(bytes.begin(), end);
    }
    EXPECT_THAT(bytes, IsEmpty());
    return all;
  }
  static std::vector<OptionReply> types(const std::vector<fake::OptionAnswer>& answers) {
    std::vector<OptionReply> all;
    for (const auto& one : answers) all.push_back(one.type);
    return all;
  }

  Offer offer_{.name = "naa.1",
               .description = "a disk",
               .geometry = {.bytes = 1 << 20, .most_bytes = 65536, .has_write_cache = true}};
  Handshake hands_{offer_};
};

TEST_F(HandshakeTest, GreetsWithFixedNewstyle) {
  const Bytes greeting = said();
  ASSERT_THAT(greeting, SizeIs(18));
  EXPECT_EQ(greeting, bytes_of_text("NBDMAGICIHAVEOPT") + joined(Be16(3)));
}

TEST_F(HandshakeTest, EndsWithFlagsThatDoNotExist) {
  hear(joined(Be32(7)));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_THAT(hands_.problem(), HasSubstr("client flags"));
  EXPECT_TRUE(hands_.has_broken_rules());
}

TEST_F(HandshakeTest, EndsWithAClientThatIsNotFixedNewstyle) {
  hear(joined(Be32(2)));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_THAT(hands_.problem(), HasSubstr("fixed newstyle"));
}

TEST_F(HandshakeTest, EndsWithAnOptionOfAWrongMagic) {
  begin();
  hear(joined(OptionHeader{.magic = Be64(kOptionReplyMagic)}));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_THAT(hands_.problem(), HasSubstr("magic"));
}

TEST_F(HandshakeTest, ListsTheOneExport) {
  begin();
  const auto answers = ask(Option::kList);
  ASSERT_THAT(types(answers), ElementsAre(OptionReply::kServer, OptionReply::kAck));
  EXPECT_EQ(answers[0].data, joined(Be32(5)) + bytes_of_text("naa.1"));
  EXPECT_EQ(answers[0].option, 3U);
  EXPECT_THAT(types(ask(Option::kList, Bytes(1))), ElementsAre(OptionReply::kInvalid));
}

TEST_F(HandshakeTest, TellsOfTheExportWithoutOpeningIt) {
  begin();
  const auto all = ask(Option::kInfo,
                       query_of("naa.1", {Information::kName, Information::kDescription,
                                          Information::kBlockSize, static_cast<Information>(77)}));
  ASSERT_THAT(types(all), ElementsAre(OptionReply::kInfo, OptionReply::kInfo, OptionReply::kInfo,
                                      OptionReply::kInfo, OptionReply::kAck));
  EXPECT_EQ(all[0].data, joined(Be16(0), Be64(1 << 20), Be16(kHasFlags | kSendFlush | kSendFua)));
  EXPECT_EQ(all[1].data, joined(Be16(1)) + bytes_of_text("naa.1"));
  EXPECT_EQ(all[2].data, joined(Be16(2)) + bytes_of_text("a disk"));
  EXPECT_EQ(all[3].data, joined(Be16(3), Be32(512), Be32(4096), Be32(65536)));
  EXPECT_EQ(hands_.state(), State::kTalking);
}

// A client has to keep to the block sizes, asked or not.
TEST_F(HandshakeTest, TellsSizesUnasked) {
  begin();
  EXPECT_THAT(types(ask(Option::kInfo, query_of("", {}))),
              ElementsAre(OptionReply::kInfo, OptionReply::kInfo, OptionReply::kAck));
}

TEST_F(HandshakeTest, RefusesAnUnknownExport) {
  begin();
  for (const Option option : {Option::kInfo, Option::kGo}) {
    EXPECT_THAT(types(ask(option, query_of("naa.2", {}))), ElementsAre(OptionReply::kUnknown));
    EXPECT_THAT(types(ask(option, query_of(std::string(kMostNameBytes, 'n'), {}))),
                ElementsAre(OptionReply::kUnknown));
    EXPECT_THAT(types(ask(option, query_of(std::string("naa.1\0", 6), {}))),
                ElementsAre(OptionReply::kUnknown));
  }
  EXPECT_EQ(hands_.refused_options(), 6U);
}

TEST_F(HandshakeTest, RefusesQueriesThatDoNotFitTheirData) {
  begin();
  const Bytes queries[] = {
      {},
      Bytes(3),
      joined(Be32(0)),
      joined(Be32(1), Be16(0)),
      joined(Be32(3), Be16(0)),
      joined(Be32(0xFFFF'FFFF), Be16(0)),
      joined(Be32(0), Be16(1)),
      joined(Be32(0), Be16(0), Be16(0)),
      joined(Be32(0), Be16(0xFFFF), Be16(0)),
      query_of(std::string(kMostNameBytes + 1, 'n'), {}),
  };
  for (const Bytes& query : queries)
    EXPECT_THAT(types(ask(Option::kGo, query)), ElementsAre(OptionReply::kInvalid));
  EXPECT_EQ(hands_.state(), State::kTalking);
}

TEST_F(HandshakeTest, RefusesWhatItDoesNotSupport) {
  begin();
  for (const std::uint32_t option : {4U, 5U, 9U, 10U, 11U, 12U, 0U, 0xFFFF'FFFFU}) {
    const auto answers = ask(static_cast<Option>(option), Bytes(7));
    ASSERT_THAT(types(answers), ElementsAre(OptionReply::kUnsupported)) << option;
    EXPECT_EQ(answers[0].option, option);
    EXPECT_FALSE(answers[0].text().empty());
  }
}

TEST_F(HandshakeTest, AgreesOnStructuredReplies) {
  begin();
  EXPECT_THAT(types(ask(Option::kStructuredReply, Bytes(1))), ElementsAre(OptionReply::kInvalid));
  EXPECT_FALSE(hands_.agreement().is_structured);
  EXPECT_THAT(types(ask(Option::kStructuredReply)), ElementsAre(OptionReply::kAck));
  EXPECT_TRUE(hands_.agreement().is_structured);
  const auto answers = ask(Option::kInfo, query_of("", {}));
  EXPECT_EQ(answers.at(0).data,
            joined(Be16(0), Be64(1 << 20), Be16(kHasFlags | kSendFlush | kSendFua | kSendDf)));
}

TEST_F(HandshakeTest, GoWaitsForTheDevice) {
  begin();
  EXPECT_THAT(ask(Option::kGo, query_of("", {Information::kBlockSize})), IsEmpty());
  ASSERT_EQ(hands_.state(), State::kAsking);
  offer_.geometry.bytes = 512;  // it has become smaller meanwhile
  hands_.grant();
  EXPECT_EQ(hands_.state(), State::kDone);
  EXPECT_TRUE(hands_.agreement().knows_block_sizes);
  const auto all = answers();
  ASSERT_THAT(types(all), ElementsAre(OptionReply::kInfo, OptionReply::kInfo, OptionReply::kAck));
  EXPECT_EQ(all[0].data, joined(Be16(0), Be64(512), Be16(kHasFlags | kSendFlush | kSendFua)));
}

TEST_F(HandshakeTest, ADeniedGoMayBeTriedAgain) {
  begin();
  ask(Option::kGo, query_of("naa.1", {}));
  hands_.deny("another one has it");
  const auto denied = answers();
  ASSERT_THAT(types(denied), ElementsAre(OptionReply::kPolicy));
  EXPECT_EQ(denied[0].text(), "another one has it");
  ask(Option::kGo, query_of("naa.1", {}));
  hands_.grant();
  EXPECT_EQ(hands_.state(), State::kDone);
  EXPECT_FALSE(hands_.agreement().knows_block_sizes);
}

TEST_F(HandshakeTest, OpensByExportName) {
  begin();
  EXPECT_THAT(ask(Option::kExportName, bytes_of_text("naa.1")), IsEmpty());
  ASSERT_EQ(hands_.state(), State::kAsking);
  hands_.grant();
  EXPECT_EQ(said(), joined(Be64(1 << 20), Be16(kHasFlags | kSendFlush | kSendFua)));
}

TEST_F(HandshakeTest, SendsZeroesToAClientThatWantsThem) {
  begin(kFixedNewstyle);
  hear(option_of(Option::kExportName));
  hands_.grant();
  EXPECT_EQ(said(), joined(Be64(1 << 20), Be16(kHasFlags | kSendFlush | kSendFua)) + Bytes(124));
}

// The option has no answer.
TEST_F(HandshakeTest, ExportNameEndsIfItIsRefused) {
  begin();
  hear(option_of(Option::kExportName, bytes_of_text("naa.2")));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_THAT(hands_.problem(), HasSubstr("does not exist"));
  EXPECT_FALSE(hands_.has_broken_rules());
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(HandshakeTest, ExportNameEndsIfItIsDenied) {
  begin();
  hear(option_of(Option::kExportName));
  hands_.deny("another one has it");
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_EQ(hands_.problem(), "");
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(HandshakeTest, AClientMayAbort) {
  begin();
  EXPECT_THAT(types(ask(Option::kAbort)), ElementsAre(OptionReply::kAck));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_EQ(hands_.problem(), "");
}

TEST_F(HandshakeTest, SkipsAnOptionThatIsTooLong) {
  begin();
  const std::size_t longest = Handshake::kMostSkippedBytes;
  for (const std::size_t bytes : {Handshake::kMostOptionBytes + 1, longest})
    EXPECT_THAT(types(ask(Option::kGo, Bytes(bytes))), ElementsAre(OptionReply::kTooBig));
  EXPECT_THAT(types(ask(Option::kInfo, query_of("", {}))), SizeIs(3));
  hear(option_of(Option::kGo, Bytes(longest + 1)));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_THAT(hands_.problem(), HasSubstr("too much data"));
}

TEST_F(HandshakeTest, EndsWithANameThatIsTooLong) {
  begin();
  hear(option_of(Option::kExportName, Bytes(Handshake::kMostOptionBytes + 1)));
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_TRUE(hands_.has_broken_rules());
}

TEST_F(HandshakeTest, TakesSoManyOptionsAndNoMore) {
  begin();
  for (unsigned i = 0; i < Handshake::kMostOptions; ++i)
    EXPECT_THAT(types(ask(Option::kSetMetaContext)), ElementsAre(OptionReply::kUnsupported));
  EXPECT_THAT(ask(Option::kList), IsEmpty());
  EXPECT_EQ(hands_.state(), State::kOver);
  EXPECT_THAT(hands_.problem(), HasSubstr("too many options"));
}

}  // namespace
}  // namespace paravane::nbd
