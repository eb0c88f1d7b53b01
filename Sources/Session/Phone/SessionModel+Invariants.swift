public import HoldfastCore
import HoldfastSessionData

extension SessionModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      connection == nil || connection?.attempt == link.currentAttempt,
      "session: its connection is the link's attempt")
    check.require(
      isConnected == (connection?.isConnected ?? false),
      "session: connected means that the server said so")
    check.require(
      client != nil || (!link.isWanted && outbox.items.isEmpty),
      "session: nothing is done before the store was read")
    if check.isThorough {
      check.require(
        connection?.isConnected == true || outbox.items.allSatisfy { !outbox.isSending($0.id) },
        "session: a prompt is under way only on a connection")
      check.require(
        shown.status == link.status || awaitsPortalCheck,
        "session: the user is shown the present state, unless it may be a captive portal")
      check.require(
        answers.keys.allSatisfy { outbox.isEnding($0) },
        "session: an answer waits only for the end of its prompt to be stored")
      check.require(
        connection?.sent.allSatisfy { outbox[$0] != nil } ?? true,
        "session: what was sent is in the outbox until its end")
      check.require(
        !isSettled || !needsSubscription,
        "session: a conversation that needs a subscription is found")
    }
    check.require(
      outbox.marked == nil || connection?.isIdempotent == false,
      "session: a prompt is marked for a server without keys")
    link.check(&check)
    outbox.check(&check)
    messages.check(&check)
    evidence.check(&check)
    commits.check(&check)
    payload.check(&check)
    shown.check(&check)
    connection?.check(&check)
  }
}
