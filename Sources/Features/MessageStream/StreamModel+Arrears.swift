import LinkCore
import LinkStorage

// What a connect brings, and what comes before it where it does not.
extension StreamModel {
  /// What comes before a connect: a page, unless the socket itself brings what was missed.
  ///
  /// In front again, the page is wanted first in any case (seed 001: the screen fills, then it
  /// connects); after a long absence the newest page says more than what follows the cursor.
  mutating func prepare(_ attempt: AttemptID, _ step: inout Step) {
    guard !recovery.fetchesFirst, recovery.cursor.position != nil, !takesNoMore,
      !recovery.isLong(settings, at: wall(at: step.now))
    else {
      recovery.unprepared = nil
      return catchUp(.prepare(attempt), &step)
    }
    recovery.unprepared = attempt
    drive(.prepared(attempt), &step)
  }

  /// A try of a launch failed: what it would have brought is fetched, where that may work although
  /// the socket does not; otherwise the next try may bring it.
  mutating func fetchInstead(after failure: LinkFailure, _ step: inout Step) {
    switch failure.failureClass {
    case .timeout, .silent, .proxy, .reset, .ended, .protocolError, .badRequest, .notFound,
      .tooManyRequests, .serverError, .unavailable, .otherStatus, .closedNormally, .closedRestart,
      .closedPolicy, .closedReplaced, .closedOther:
      recovery.unprepared = nil
      catchUp(.refresh, &step)
    case .unreachable, .dns, .refused, .tls, .captivePortal, .local, .unauthorized, .forbidden,
      .closedUnauthorized, .closedForbidden:
      return
    }
  }

  /// What the server says to a request beside the socket is true for the socket too, where it is
  /// about the way or the person; where it is about the page, the socket is tried all the same.
  mutating func prepareFailed(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    switch failure.failureClass {
    case .serverError, .unavailable, .notFound, .badRequest, .tooManyRequests, .otherStatus,
      .protocolError:
      drive(.prepared(attempt), &step)
    case .unreachable, .dns, .refused, .timeout, .silent, .tls, .reset, .ended, .proxy,
      .captivePortal, .local, .unauthorized, .forbidden, .closedNormally, .closedRestart,
      .closedPolicy, .closedUnauthorized, .closedForbidden, .closedReplaced,
      .closedOther:
      drive(.reject(attempt, failure), &step)
    }
  }
}
