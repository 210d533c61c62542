// DiscoveryCounters: the questions of a search for storage targets, and the answers that it did not
// use. The thread of the search only.

#pragma once

#include "base/counter.h"

namespace paravane::connection {

struct DiscoveryCounters {
  CounterSet set;
  Counter searches{set, "searches", "searches for storage targets that began"};
  Counter searches_cut_short{set, "searches_cut_short",
                             "searches that ended before all answers, since they took too long"};
  Counter questions_sent{set, "questions_sent", "questions of device management that were sent"};
  Counter questions_repeated{set, "questions_repeated",
                             "questions that were sent again, since no answer came"};
  Counter not_sent{set, "not_sent", "questions that the port had no room for"};
  Counter questions_unanswered{set, "questions_unanswered",
                               "questions without an answer after the last try"};
  Counter answers{set, "answers", "answers to questions that were open"};
  Counter services_found{set, "services_found", "services of SRP targets that were found"};
  // ---- Answers that were passed over, and parts of them ----
  Counter bad_headers{set, "bad_headers",
                      "datagrams of another version, class or method than an answer has"};
  Counter unknown_questions{set, "unknown_questions",
                            "answers to no open question: late, twice, or made up"};
  Counter foreign_senders{set, "foreign_senders",
                          "answers from another address than the one that was asked"};
  Counter other_answers{set, "other_answers",
                        "answers whose attribute or modifier is not the question's"};
  Counter busy_units{set, "busy_units", "answers that ask for patience"};
  Counter refused_questions{set, "refused_questions",
                            "answers with the status of a failure, after the first of a unit"};
  Counter other_controllers{set, "other_controllers", "controllers that are not SRP's"};
  Counter other_services{set, "other_services", "services that are not SRP's"};
  Counter bad_services{set, "bad_services",
                       "services of SRP without an ID, or without an ID extension in the name"};
  Counter left_out{set, "left_out",
                   "controllers and services of one unit beyond the number that is looked at"};
};

}  // namespace paravane::connection
