#include "verbs/adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "testing/solo_engine.h"

namespace paravane::verbs {
namespace {

using fake::EngineQp;
using fake::send_request;
using fake::SoloEngine;

constexpr auto kRc = QpType::kReliableConnected;
constexpr auto kGsi = QpType::kGeneralServices;

class AdapterTest : public testing::Test {
 protected:
  Adapter& adapter() { return engine_.adapter(); }
  Result<std::unique_ptr<QueuePair>> create(QpType type, std::uint32_t number = 0) {
    return adapter().create_qp({.type = type,
                                .pd = engine_.vm().pd(),
                                .number = number,
                                .send_cq = &ends_.sends,
                                .receive_cq = &ends_.receives,
                                .work = &ends_.work});
  }
  Errc error_of(QpType type, std::uint32_t number = 0) {
    const auto made = create(type, number);
    return made ? Errc::kIo : made.error().code;
  }

  EngineQp ends_;
  SoloEngine engine_{AdapterLimits{.queue_pairs = 4, .protection_domains = 3, .gids = 8}};
};

TEST_F(AdapterTest, ProtectionDomainsAreLimitedAndReusedLate) {
  const PdNumber first = *adapter().create_pd();  // the engine's own is the third
  const PdNumber second = *adapter().create_pd();
  EXPECT_EQ(adapter().create_pd().error().code, Errc::kResourceExhausted);
  ASSERT_TRUE(adapter().destroy_pd(second));
  ASSERT_TRUE(adapter().destroy_pd(first));
  EXPECT_EQ(*adapter().create_pd(), second);
  EXPECT_EQ(*adapter().create_pd(), first);
}

TEST_F(AdapterTest, ProtectionDomainInUseStays) {
  const PdNumber pd = *adapter().create_pd();
  const std::uint32_t key = *adapter().regions().add_dma(pd, kAccessLocalWrite);
  EXPECT_EQ(adapter().destroy_pd(pd).error().code, Errc::kBadState);
  ASSERT_TRUE(adapter().regions().remove(key));
  EXPECT_TRUE(adapter().destroy_pd(pd));
  EXPECT_EQ(adapter().destroy_pd(pd).error().code, Errc::kNotFound);

  auto qp = *create(kRc);
  EXPECT_EQ(adapter().destroy_pd(engine_.vm().pd()).error().code, Errc::kBadState);
  qp.reset();
  EXPECT_TRUE(adapter().destroy_pd(engine_.vm().pd()));
}

TEST_F(AdapterTest, QueuePairNeedsItsProtectionDomain) {
  ASSERT_TRUE(adapter().destroy_pd(engine_.vm().pd()));
  EXPECT_EQ(error_of(kRc), Errc::kNotFound);
}

TEST_F(AdapterTest, QueuePairsAreLimited) {
  std::vector<std::unique_ptr<QueuePair>> qps;
  for (int i = 0; i < 4; ++i) qps.push_back(*create(kRc));
  EXPECT_EQ(error_of(kRc), Errc::kResourceExhausted);
  qps.pop_back();
  EXPECT_TRUE(create(kRc));
}

TEST_F(AdapterTest, C30GsiQueuePairIsNumberOneAndAlone) {
  const auto gsi = *create(kGsi);
  EXPECT_EQ(gsi->number(), 1u);
  EXPECT_EQ(error_of(kGsi), Errc::kBadState);
  EXPECT_EQ(error_of(kRc, 1), Errc::kInvalidArgument);
  EXPECT_EQ(error_of(kGsi, 5), Errc::kInvalidArgument);
}

TEST_F(AdapterTest, C30ChosenNumbersAreNeverZeroOrOne) {
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    const auto qp = *create(kRc);
    EXPECT_GT(qp->number(), 1u);
    EXPECT_LE(qp->number(), kQpNumberMask);
    EXPECT_TRUE(numbers.insert(qp->number()).second) << "reused early";
  }
}

TEST_F(AdapterTest, NumbersComeAfterTheOneThatIsSaid) {
  adapter().choose_numbers_after(0x12'3452);
  const auto first = std::move(create(QpType::kReliableConnected).value());
  const auto second = std::move(create(QpType::kReliableConnected).value());
  EXPECT_EQ(first->number(), 0x12'3453u);
  EXPECT_EQ(second->number(), 0x12'3454u);
  // At the end of the range they begin anew.
  adapter().choose_numbers_after(0xFFFF'FFFF);
  EXPECT_GT(create(QpType::kReliableConnected).value()->number(), 1u);
}

TEST_F(AdapterTest, GivenNumbersAreTaken) {
  const auto qp = *create(kRc, 7);
  EXPECT_EQ(qp->number(), 7u);
  EXPECT_EQ(error_of(kRc, 7), Errc::kBadState);
  EXPECT_EQ(error_of(kRc, 0x100'0000), Errc::kInvalidArgument);
  EXPECT_EQ(adapter().find_qp(7), qp.get());
}

TEST_F(AdapterTest, FindMatchesTheWholeNumber) {
  const auto qp = *create(kRc, 5);
  EXPECT_EQ(adapter().find_qp(5 + 8), nullptr);  // the same slot
  EXPECT_EQ(adapter().find_qp(0), nullptr);
  EXPECT_EQ(adapter().find_qp(0xFFFF'FFFF), nullptr);
}

TEST_F(AdapterTest, DestroyedQueuePairsAreNotFound) {
  auto qp = *create(kRc);
  const std::uint32_t number = qp->number();
  qp.reset();
  EXPECT_EQ(adapter().find_qp(number), nullptr);
  EXPECT_EQ(adapter().qp_count(), 0u);
}

// A life is that of one queue pair, whatever host it is on.
TEST_F(AdapterTest, NoOtherAdapterHasALifeOfItsQueuePairs) {
  SoloEngine other;
  const auto life_of = [](SoloEngine& engine) {
    const std::unique_ptr<EngineQp> qp = engine.vm().queue_pair();
    EXPECT_TRUE(fake::bring_up(*qp->qp, QpState::kInit, fake::default_attributes()));
    return qp->qp->life();
  };
  const Life first = life_of(engine_);
  EXPECT_TRUE(first.is_known());
  EXPECT_NE(first, life_of(engine_));
  EXPECT_NE(first.high, life_of(other).high);
  EXPECT_NE(first.low, life_of(other).low);
}

TEST_F(AdapterTest, QueuePairsTakeTurnsOfOneSlice) {
  const auto busy = engine_.ready();
  const auto other = engine_.ready();
  for (std::uint64_t i = 0; i < 1000; ++i) busy->post(send_request(i, {}));
  for (std::uint64_t i = 0; i < 10; ++i) other->post(send_request(i, {}));

  Budget budget{.bytes = 1 << 20, .operations = 64 + 10 + 5};
  adapter().run(engine_.now(), budget);
  EXPECT_EQ(other->sends.size(), 10u);
  EXPECT_EQ(busy->sends.size(), 64u + 5u);  // what nobody else wanted
  EXPECT_TRUE(adapter().has_work());
}

TEST_F(AdapterTest, LargeMessagesAreSlicedByBytes) {
  const fake::EngineBuffer buffer = engine_.vm().buffer(200'000);
  const auto busy = engine_.ready();
  const auto other = engine_.ready();
  for (std::uint64_t i = 0; i < 10; ++i) busy->post(send_request(i, {buffer.whole()}));
  other->post(send_request(1, {}));

  Budget budget{.bytes = 400'001, .operations = 1000};
  adapter().run(engine_.now(), budget);
  EXPECT_EQ(other->sends.size(), 1u);
  EXPECT_EQ(busy->sends.size(), 3u);  // two, which are over 256 KiB, and one more for the last byte
}

TEST_F(AdapterTest, BudgetEndsTheTurn) {
  const auto first = engine_.ready();
  const auto second = engine_.ready();
  for (std::uint64_t i = 0; i < 50; ++i) {
    first->post(send_request(i, {}));
    second->post(send_request(i, {}));
  }
  Budget budget{.bytes = 1 << 20, .operations = 30};
  adapter().run(engine_.now(), budget);
  EXPECT_TRUE(budget.spent());
  EXPECT_EQ(first->sends.size(), 30u);
  EXPECT_EQ(second->sends.size(), 0u);

  budget = {.bytes = 1 << 20, .operations = 30};
  adapter().run(engine_.now(), budget);
  EXPECT_EQ(second->sends.size(), 30u);  // it was not forgotten
}

TEST_F(AdapterTest, EmptyLooksCostAnOperation) {
  std::vector<std::unique_ptr<EngineQp>> qps;
  for (int i = 0; i < 4; ++i) {
    qps.push_back(engine_.ready());
    qps.back()->qp->kick();
  }
  Budget budget{.bytes = 1 << 20, .operations = 3};
  adapter().run(engine_.now(), budget);
  EXPECT_TRUE(adapter().has_work());
  budget = {.bytes = 1 << 20, .operations = 3};
  adapter().run(engine_.now(), budget);
  EXPECT_FALSE(adapter().has_work());
}

TEST_F(AdapterTest, KicksAreHarmlessInAnyState) {
  const auto qp = engine_.vm().queue_pair();
  for (int i = 0; i < 3; ++i) qp->qp->kick();
  EXPECT_FALSE(adapter().has_work());
  QpAttributes attributes = fake::default_attributes();
  attributes.av.dgid = SoloEngine::kPeer;
  ASSERT_TRUE(fake::bring_up(*qp->qp, QpState::kReadyToSend, attributes));
  for (int i = 0; i < 3; ++i) qp->qp->kick();
  engine_.run();
  EXPECT_EQ(qp->work.send_looks(), 1u);
}

}  // namespace
}  // namespace paravane::verbs
