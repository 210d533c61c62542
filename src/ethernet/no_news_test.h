// causes_no_news(): whether something can be done without any news of a network's links.

#pragma once

#include <chrono>
#include <thread>

#include "ethernet/link_news.h"

namespace paravane::ethernet {

// The kernel tells up to a second later that a link has come up, so news of what was done before
// may arrive at any moment: what causes none does so in one of several tries.
template <typename Act>
bool causes_no_news(LinkNews& news, const Act& act) {
  const LinkFilter anything{.strangers = true, .addresses = true};
  for (int tries = 0; tries < 40; ++tries) {
    news.take(anything);
    act();
    if (!news.take(anything)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace paravane::ethernet
