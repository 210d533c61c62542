// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* The cable: a byte stream of frames, read from and written to /dev/lab_cable0. The end that is
 * here speaks when the file is opened; closing it pulls the cable out.
 *
 * A frame: length of the body, 2 bytes; kind; cables that a packet has crossed, 1 byte. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ib_lab.h"

enum { VERSION = 1, HELLO_BYTES = 16, MOST_WAITING = 4096, BEAT_S = 1, SILENCE_S = 3 };

struct lab_frame* lab_new_frame(u32 body_bytes) {
  struct lab_frame* frame = kmalloc(sizeof *frame + LAB_FRAME_HEADER + body_bytes, GFP_ATOMIC);

  if (!frame) return NULL;
  frame->bytes = LAB_FRAME_HEADER + body_bytes;
  frame->sent = 0;
  put_unaligned_be16(body_bytes, frame->data);
  frame->data[3] = 0;
  return frame;
}

void lab_cable_put_locked(struct lab_device* lab, struct lab_frame* frame) {
  struct lab_cable* cable = &lab->cable;

  if (!cable->open || cable->waiting >= MOST_WAITING ||
      (frame->data[2] == LAB_PACKET && lab->port.state == IB_PORT_DOWN)) {
    kfree(frame);
    return;
  }
  list_add_tail(&frame->entry, &cable->frames);
  cable->waiting++;
  wake_up_interruptible(&cable->readable);
}

static void put_locked(struct lab_device* lab, enum lab_frame_kind kind, const u8* body,
                       u32 bytes) {
  struct lab_frame* frame = lab_new_frame(bytes);

  if (!frame) return;
  frame->data[2] = kind;
  memcpy(frame->data + LAB_FRAME_HEADER, body, bytes);
  lab_cable_put_locked(lab, frame);
}

void lab_cable_say_locked(struct lab_device* lab, enum lab_link_word word) {
  const u8 body = word;

  put_locked(lab, LAB_LINK, &body, 1);
}

static void say_hello_locked(struct lab_device* lab) {
  u8 body[HELLO_BYTES] = {0};

  put_unaligned_be16(VERSION, body);
  put_unaligned_be16(1, body + 2);
  put_unaligned_be64(be64_to_cpu(lab->ib.node_guid), body + 8);
  put_locked(lab, LAB_HELLO, body, sizeof body);
}

/* ---- What the other end says ---- */

static void hear_link_locked(struct lab_device* lab, u8 word) {
  const bool able = !lab->port.disabled, up = lab->port.state != IB_PORT_DOWN;

  if (word == LAB_LINK_DOWN && up) {
    lab_link_down_locked(lab, IB_PORT_PHYS_STATE_POLLING);
  } else if (word == LAB_LINK_TRAINING && able) {
    if (up)
      lab_link_down_locked(lab, IB_PORT_PHYS_STATE_POLLING);
    else
      lab_link_up_locked(lab);
    lab_cable_say_locked(lab, up ? LAB_LINK_TRAINING : LAB_LINK_UP);
  } else if (word == LAB_LINK_UP && able && !up) {
    lab_link_up_locked(lab);
  }
}

/* False: not what an end of a cable says. */
static bool hear_locked(struct lab_device* lab, const u8* frame, u32 bytes) {
  struct lab_cable* cable = &lab->cable;
  const u8* body = frame + LAB_FRAME_HEADER;

  if (!cable->greeted && frame[2] != LAB_HELLO) return false;
  cable->heard = jiffies;
  switch (frame[2]) {
    case LAB_PACKET:
      if (lab->port.state == IB_PORT_DOWN)
        lab_untimely++;
      else
        lab_deliver_locked(lab, body, bytes);
      return true;
    case LAB_HELLO:
      if (cable->greeted || bytes != HELLO_BYTES || get_unaligned_be16(body) != VERSION)
        return false;
      cable->greeted = true;
      if (!lab->port.disabled) lab_cable_say_locked(lab, LAB_LINK_TRAINING);
      return true;
    case LAB_BEAT: return bytes == 0;
    case LAB_LINK:
      if (bytes != 1 || body[0] > LAB_LINK_UP) return false;
      hear_link_locked(lab, body[0]);
      return true;
  }
  return false;
}

static void beat(struct work_struct* work) {
  struct lab_device* lab = container_of(to_delayed_work(work), struct lab_device, cable.beat);
  unsigned long flags;

  spin_lock_irqsave(&lab->lock, flags);
  put_locked(lab, LAB_BEAT, NULL, 0);
  if (time_after(jiffies, lab->cable.heard + SILENCE_S * HZ) && lab->port.state != IB_PORT_DOWN)
    lab_link_down_locked(lab, IB_PORT_PHYS_STATE_POLLING);
  spin_unlock_irqrestore(&lab->lock, flags);
  queue_delayed_work(lab->workers, &lab->cable.beat, BEAT_S * HZ);
}

/* ---- The file ---- */

static struct lab_device* of_file(struct file* file) {
  struct miscdevice* device = file->private_data;

  return container_of(device, struct lab_device, cable.file);
}

static int open_cable(struct inode* inode, struct file* file) {
  struct lab_device* lab = of_file(file);
  struct lab_cable* cable = &lab->cable;
  unsigned long flags;
  int result = 0;

  spin_lock_irqsave(&lab->lock, flags);
  if (cable->open) {
    result = -EBUSY;
  } else {
    cable->open = true;
    cable->greeted = false;
    cable->heard = jiffies;
    cable->filled = 0;
    say_hello_locked(lab);
  }
  spin_unlock_irqrestore(&lab->lock, flags);
  if (result == 0) queue_delayed_work(lab->workers, &cable->beat, BEAT_S * HZ);
  return result;
}

static int close_cable(struct inode* inode, struct file* file) {
  struct lab_device* lab = of_file(file);
  struct lab_cable* cable = &lab->cable;
  struct lab_frame *frame, *next;
  unsigned long flags;

  cancel_delayed_work_sync(&cable->beat);
  spin_lock_irqsave(&lab->lock, flags);
  lab_link_down_locked(lab, IB_PORT_PHYS_STATE_POLLING);
  list_for_each_entry_safe(frame, next, &cable->frames, entry) {
    list_del(&frame->entry);
    kfree(frame);
  }
  cable->waiting = 0;
  cable->open = false;
  spin_unlock_irqrestore(&lab->lock, flags);
  return 0;
}

static ssize_t read_cable(struct file* file, char __user* to, size_t most, loff_t* offset) {
  struct lab_device* lab = of_file(file);
  struct lab_cable* cable = &lab->cable;
  ssize_t done = 0;
  unsigned long flags;

  if (mutex_lock_interruptible(&cable->reading)) return -ERESTARTSYS;
  if (wait_event_interruptible(cable->readable, READ_ONCE(cable->waiting) > 0)) done = -ERESTARTSYS;
  while (done >= 0 && done < most && READ_ONCE(cable->waiting) > 0) {
    /* Only a reader takes frames away. */
    struct lab_frame* frame = list_first_entry(&cable->frames, struct lab_frame, entry);
    const size_t some = min_t(size_t, most - done, frame->bytes - frame->sent);

    if (copy_to_user(to + done, frame->data + frame->sent, some)) {
      done = done > 0 ? done : -EFAULT;
      break;
    }
    frame->sent += some;
    done += some;
    if (frame->sent < frame->bytes) continue;
    spin_lock_irqsave(&lab->lock, flags);
    list_del(&frame->entry);
    cable->waiting--;
    spin_unlock_irqrestore(&lab->lock, flags);
    kfree(frame);
  }
  mutex_unlock(&cable->reading);
  return done;
}

/* Takes what is missing of the current frame, of header or body. */
static size_t missing(const struct lab_cable* cable) {
  if (cable->filled < LAB_FRAME_HEADER) return LAB_FRAME_HEADER - cable->filled;
  return LAB_FRAME_HEADER + get_unaligned_be16(cable->input) - cable->filled;
}

static ssize_t write_cable(struct file* file, const char __user* from, size_t bytes,
                           loff_t* offset) {
  struct lab_device* lab = of_file(file);
  struct lab_cable* cable = &lab->cable;
  size_t done = 0;
  ssize_t result = bytes;
  unsigned long flags;

  if (mutex_lock_interruptible(&cable->writing)) return -ERESTARTSYS;
  while (done < bytes) {
    const size_t some = min(missing(cable), bytes - done);
    bool right;

    if (copy_from_user(cable->input + cable->filled, from + done, some)) {
      result = -EFAULT;
      break;
    }
    cable->filled += some;
    done += some;
    if (cable->filled < LAB_FRAME_HEADER) break;
    if (LAB_FRAME_HEADER + get_unaligned_be16(cable->input) > sizeof cable->input) {
      result = -EPROTO;
      break;
    }
    if (missing(cable) > 0) continue;
    spin_lock_irqsave(&lab->lock, flags);
    right = hear_locked(lab, cable->input, cable->filled - LAB_FRAME_HEADER);
    spin_unlock_irqrestore(&lab->lock, flags);
    cable->filled = 0;
    if (!right) {
      result = -EPROTO;
      break;
    }
  }
  mutex_unlock(&cable->writing);
  return result;
}

static const struct file_operations cable_operations = {
    .owner = THIS_MODULE,
    .open = open_cable,
    .release = close_cable,
    .read = read_cable,
    .write = write_cable,
};

int lab_cable_start(struct lab_device* lab, int number) {
  struct lab_cable* cable = &lab->cable;

  mutex_init(&cable->reading);
  mutex_init(&cable->writing);
  init_waitqueue_head(&cable->readable);
  INIT_LIST_HEAD(&cable->frames);
  INIT_DELAYED_WORK(&cable->beat, beat);
  cable->file.minor = MISC_DYNAMIC_MINOR;
  snprintf(cable->name, sizeof cable->name, "lab_cable%d", number);
  cable->file.name = cable->name;
  cable->file.fops = &cable_operations;
  return misc_register(&cable->file);
}

void lab_cable_end(struct lab_device* lab) {
  misc_deregister(&lab->cable.file);
}
