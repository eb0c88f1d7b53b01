public import LinkCore
import LinkStorage

// What always holds between the parts of a session.
extension SessionModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      talk == nil || talk?.attempt == link.currentAttempt,
      "session: it talks on the link's attempt")
    check.require(
      (link.status.phase == .connected) == (talk?.stage == .connected),
      "session: connected means that the server said so")
    check.require(
      client != nil || (!link.isWanted && queue.items.isEmpty),
      "session: nothing is done before the store was read")
    check.require(
      owed.count <= SessionSettings.owedLimit, "session: acknowledgements are bounded")
    check.require(
      ahead.count <= SessionSettings.numbersAhead, "session: numbers ahead are bounded")
    if check.isThorough {
      check.require(
        talk?.stage == .connected || queue.items.allSatisfy { queue.sending($0.id) == nil },
        "session: a prompt is under way only on a connection")
      check.require(
        shown.status == link.status, "session: the user is shown the present state")
      check.require(
        ahead.allSatisfy { $0 > received + 1 }, "session: the next number is not ahead")
      check.require(
        queue.items.allSatisfy { $0.number <= lastPrompt },
        "session: every prompt was numbered")
      check.require(
        talk?.sent.allSatisfy { queue[$0] != nil } ?? true,
        "session: what was sent is in the outbox until its end")
    }
    check.require(
      leaving == nil || talk?.isIdempotent == false,
      "session: a prompt is marked for a server without keys")
    for one in evidence.values { one.check(&check) }
    link.check(&check)
    queue.check(&check)
    writer.check(&check)
    payload.check(&check)
    talk?.check(&check)
  }
}
