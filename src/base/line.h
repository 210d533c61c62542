// Line: a FIFO queue of waiting objects. An object can leave the queue from any position in
// constant time. This matters because a guest decides how many of its objects wait and when all of
// them are destroyed.
//
// The links of the queue are members of the objects, so the queue never allocates memory.
//
// Owner thread only.

#pragma once

#include <cassert>

namespace paravane {

template <typename T>
class Line {
 public:
  // A member of an object that can wait in a line. The object must leave the line before the place
  // is destroyed.
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

  // Adds the object at the end. REQUIRES: !place.taken().
  void join(T& who, Place& place) {
    place.who_ = &who;
    place.before_ = last_;
    (last_ == nullptr ? first_ : last_->after_) = &place;
    last_ = &place;
  }

  // Does nothing if the place is not taken. REQUIRES: a place that is taken is in this line.
  void leave(Place& place) {
    if (!place.taken()) return;
    (place.before_ == nullptr ? first_ : place.before_->after_) = place.after_;
    (place.after_ == nullptr ? last_ : place.after_->before_) = place.before_;
    place.who_ = nullptr;
    place.before_ = nullptr;
    place.after_ = nullptr;
  }

  // The first object in the line; nullptr: the line is empty.
  T* first() const { return empty() ? nullptr : first_->who_; }

  // Removes the first object from the line and returns it; nullptr: the line is empty.
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
