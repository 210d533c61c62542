// Random requests, answers and lies against a model of what a session must hold: the tags that are
// under way, and the credits.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "srp/session.h"
#include "testing/srp_session_rig.h"

namespace paravane::srp {
namespace {

constexpr std::size_t kPlaces = 8;

class SessionModel {
 public:
  explicit SessionModel(std::uint32_t seed)
      : random_(seed),
        credits_(1 + static_cast<std::int64_t>(below(10))),
        reserve_(credits_ > 1 ? 1 : 0),
        session_(fake::login_terms(static_cast<std::uint32_t>(credits_)), kPlaces, sender_) {}

  void run(int acts) {
    for (int i = 0; i < acts && !session_.is_over(); ++i) {
      act();
      compare();
    }
    events_.dropped.clear();
    session_.drop_all(events_);
    std::set<Tag> expected;
    for (const auto& [tag, lun] : commands_) expected.insert(tag);
    for (const auto& [tag, request] : management_) expected.insert(tag);
    EXPECT_EQ(std::set<Tag>(events_.dropped.begin(), events_.dropped.end()), expected);
    EXPECT_EQ(events_.dropped.size(), expected.size());
  }

 private:
  struct Request {
    TaskFunction function{};
    scsi::Lun lun{};
    Tag task{};
  };

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void act() {
    switch (below(8)) {
      case 0:
      case 1:
      case 2: return submit();
      case 3: return manage();
      case 4:
      case 5: return answer_one();
      case 6: return grant();
      default: return below(20) == 0 ? lie() : answer_one();
    }
  }

  bool may_submit() const { return commands_.size() < kPlaces && credits_ > reserve_; }

  void submit() {
    ASSERT_EQ(session_.has_room(), may_submit());
    if (!may_submit()) return;
    const scsi::Lun lun = scsi::Lun::of(below(3));
    const auto tag = session_.submit({.lun = lun});
    ASSERT_TRUE(tag);
    ASSERT_TRUE(all_.insert(*tag).second) << "a tag is used once";
    commands_[*tag] = lun;
    last_[slot_of(*tag)] = *tag;
    --credits_;
  }

  void manage() {
    ASSERT_EQ(session_.can_manage(), credits_ > 0 && management_.size() < Session::kMostManagement);
    if (!session_.can_manage() || commands_.empty()) return;
    const auto& [task, lun] = *std::next(commands_.begin(), below(commands()));
    const bool is_abort = below(2) == 0;
    const auto function = is_abort ? TaskFunction::kAbortTask : TaskFunction::kLunReset;
    const auto tag =
        session_.manage(function, lun, is_abort ? std::optional<Tag>(task) : std::nullopt);
    ASSERT_TRUE(tag);
    ASSERT_TRUE(all_.insert(*tag).second);
    management_[*tag] = {.function = function, .lun = lun, .task = task};
    --credits_;
  }
  std::uint32_t commands() const { return static_cast<std::uint32_t>(commands_.size()); }

  std::uint32_t some_delta() {
    const std::int64_t delta = static_cast<std::int64_t>(below(5)) - 1;
    credits_ += delta;
    if (credits_ > 1) reserve_ = 1;
    return static_cast<std::uint32_t>(delta);
  }

  void answer_one() {
    if (!management_.empty() && below(3) == 0) return answer_management();
    if (commands_.empty()) return;
    const Tag tag = std::next(commands_.begin(), below(commands()))->first;
    commands_.erase(tag);
    wire::srp::Response response;
    response.tag.set(static_cast<std::uint64_t>(tag));
    response.request_limit_delta.set(some_delta());
    ASSERT_TRUE(session_.receive(std::as_bytes(std::span(&response, 1)), events_));
    ASSERT_EQ(events_.responses.back().first, tag);
  }

  void answer_management() {
    const auto [tag, request] = *management_.begin();
    management_.erase(tag);
    struct {
      wire::srp::Response response{.flags = wire::srp::response_flag::kResponseValid};
      wire::srp::ResponseData data{};
    } iu;
    const bool is_done = below(2) == 0;
    iu.response.tag.set(static_cast<std::uint64_t>(tag));
    iu.response.request_limit_delta.set(some_delta());
    iu.response.response_bytes.set(4);
    iu.data.code = is_done ? 0 : 5;
    std::set<Tag> ended;
    if (is_done) {
      for (const auto& [command, lun] : commands_) {
        const bool is_hit = request.function == TaskFunction::kAbortTask
                                ? command == request.task
                                : lun == request.lun && generation_of(command) < generation_of(tag);
        if (is_hit) ended.insert(command);
      }
    }
    for (const Tag command : ended) commands_.erase(command);
    late_.insert(ended.begin(), ended.end());
    events_.aborted.clear();
    ASSERT_TRUE(session_.receive(std::as_bytes(std::span(&iu, 1)), events_));
    ASSERT_EQ(std::set<Tag>(events_.aborted.begin(), events_.aborted.end()), ended);
    ASSERT_EQ(events_.managed.back().tag, tag);
  }

  void grant() {
    wire::srp::CreditRequest request;
    request.request_limit_delta.set(some_delta());
    ASSERT_TRUE(session_.receive(std::as_bytes(std::span(&request, 1)), events_));
  }

  // An answer to what is not under way, which is let pass once for what a reset has ended.
  void lie() {
    std::uint64_t tag = random_();
    if (!all_.empty() && below(2) == 0)
      tag = static_cast<std::uint64_t>(
          *std::next(all_.begin(), below(static_cast<std::uint32_t>(all_.size()))));
    if (commands_.contains(Tag{tag}) || management_.contains(Tag{tag})) return;
    wire::srp::Response response;
    response.tag.set(tag);
    const std::size_t before = events_.responses.size();
    const bool is_late = last_.contains(slot_of(Tag{tag})) &&
                         last_[slot_of(Tag{tag})] == Tag{tag} && late_.erase(Tag{tag}) == 1;
    ASSERT_EQ(session_.receive(std::as_bytes(std::span(&response, 1)), events_).has_value(),
              is_late);
    ASSERT_EQ(session_.is_over(), !is_late);
    ASSERT_EQ(events_.responses.size(), before);
  }

  void compare() {
    ASSERT_EQ(session_.commands(), commands_.size());
    ASSERT_EQ(session_.management(), management_.size());
    ASSERT_EQ(session_.credits(), credits_);
    for (const auto& [tag, lun] : commands_) ASSERT_TRUE(session_.is_under_way(tag));
  }

  std::mt19937_64 random_;
  std::int64_t credits_;
  std::int64_t reserve_;
  fake::SentIus sender_{};
  fake::RecordedSrpEvents events_{};
  Session session_;
  std::map<Tag, scsi::Lun> commands_;
  std::map<Tag, Request> management_;
  std::set<Tag> all_;
  std::set<Tag> late_;               // ended by task management
  std::map<std::size_t, Tag> last_;  // of each place
};

TEST(SrpSessionModel, AgreesOnTagsAndCredits) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SessionModel(seed).run(300);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace paravane::srp
