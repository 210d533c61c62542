// Line: a FIFO queue of waiting objects. Any of them can leave from the middle in constant time,
// however long the queue is, because a guest decides how many wait and when they all go. The queue
// is intrusive: it allocates nothing, since the links are part of the objects.
//
// Owner thread only.

#pragma once

#include <cassert>

namespace paravane {

template <typename T>
class Line {
 public:
  // A member of an object that can wait in a line; it leaves the line before it is destroyed.
  class Place {
   public:
    Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { assert(!taken()); }

    bool taken() const { return who_ != nullptr; }

   private:
    friend class Line;
    T* who_ = nullptr;
    Place* before_ = nullptr;
    Place* after_ = nullptr;
  };

  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  bool empty() const { return first_ == nullptr; }

  // At the end. REQUIRES: !place.taken().
  void join(T& who, Place& place) {
    place.who_ = &who;
    place.before_ = last_;
    (last_ == nullptr ? first_ : last_->after_) = &place;
    last_ = &place;
  }

  // Does nothing if the place is not taken. REQUIRES: if it is, it is in this line.
  void leave(Place& place) {
    if (!place.taken()) return;
    (place.before_ == nullptr ? first_ : place.before_->after_) = place.after_;
    (place.after_ == nullptr ? last_ : place.after_->before_) = place.before_;
    place.who_ = nullptr;
    place.before_ = nullptr;
    place.after_ = nullptr;
  }

  // The object whose turn it is; nullptr: none waits.
  T* first() const { return empty() ? nullptr : first_->who_; }

  // The same; the object leaves the line.
  T* call() {
    if (empty()) return nullptr;
    T* who = first_->who_;
    leave(*first_);
    return who;
  }

 private:
  Place* first_ = nullptr;
  Place* last_ = nullptr;
};

}  // namespace paravane
