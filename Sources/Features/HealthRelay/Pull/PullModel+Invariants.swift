package import LinkCore

// What always holds between the fields of a pull.
extension PullModel {
  package func check(_ check: inout InvariantCheck) {
    switch phase {
    case .new, .ended, .leasing, .pausing(_, .lease, _):
      check.require(line.isEmpty, "pull: questions are leased only while they are worked on")
    case .reading, .posting, .pausing(_, .post, _):
      check.require(!line.isEmpty, "pull: work is for the first in line")
    }
    if let step {
      check.require(step.number <= lastStep, "pull: the step under way was numbered")
    }
    if let reply, case .part(_, let index, let count) = reply {
      check.require(
        index >= 0 && index < count, "pull: the part that is posted is one of the answer")
    }
    switch phase {
    case .reading(_, let until), .pausing(let until, .post, _):
      check.require(until <= limit, "pull: it waits for no answer beyond the lease")
    case .pausing(let until, .lease, _):
      check.require(until <= end, "pull: it pauses within its budget")
    case .new, .leasing, .posting, .ended: break
    }
    check.require(
      report.answered >= answeredBefore && report.left >= 0
        && report.unwanted >= unwantedBefore,
      "pull: its counts only grow")
  }

  private var step: StepID? {
    switch phase {
    case .leasing(let step, _, _), .reading(let step, _), .posting(let step, _, _): step
    case .new, .pausing, .ended: nil
    }
  }

  private var reply: Reply? {
    switch phase {
    case .posting(_, let reply, _), .pausing(_, .post(let reply), _): reply
    case .new, .leasing, .reading, .pausing(_, .lease, _), .ended: nil
    }
  }
}
