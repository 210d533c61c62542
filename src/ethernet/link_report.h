// LinkReport: what make_links() has to tell an operator: what was done to which link, and what
// could not be done.
//
// Of a link that was made just now, nothing is told but that: all else about it is new, too. One
// thread at a time.

#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ethernet/switch_links.h"

namespace paravane::ethernet {

// What is done to a link, as an operator reads it: that it cannot be, and that it was.
struct LinkAct {
  const char* wish;
  const char* deed;
};

class LinkReport {
 public:
  void complain(const std::string& link, std::string text, bool foreign = false);
  void complain(LinkProblem problem) { problems_.push_back(std::move(problem)); }
  // True: done.
  bool done(const std::string& link, const LinkAct& act, const Status& status);
  // Once for each link that is new; after one another for others.
  void note(const std::string& link, const char* deed);
  // The link has been made just now.
  void set_new(const std::string& link) { new_.insert(link); }

  std::vector<LinkProblem> take_problems() { return std::exchange(problems_, {}); }
  std::vector<LinkChange> take_changes() { return std::exchange(changes_, {}); }

 private:
  std::vector<LinkProblem> problems_;
  std::vector<LinkChange> changes_;
  std::set<std::string, std::less<>> new_;
};

}  // namespace paravane::ethernet
