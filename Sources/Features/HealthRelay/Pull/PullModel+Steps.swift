import LinkCore
import LinkWire

// What follows upon what.
extension PullModel {
  mutating func begin(at now: Instant, _ effects: inout [Effect]) {
    guard phase == .new else { return }
    end = now.advanced(by: settings.budget)
    lease(tries: 0, at: now, &effects)
  }

  mutating func lease(tries: Int, at now: Instant, _ effects: inout [Effect]) {
    let left = now.duration(to: end)
    guard left >= settings.leastTime else { return finish(.outOfTime, at: now, &effects) }
    let step = newStep()
    become(.leasing(step, since: now, tries: tries), &effects)
    effects.append(
      .lease(step, max: settings.leaseLimit, within: min(left, settings.exchangeLimit)))
  }

  mutating func leased(
    _ step: StepID, _ questions: LeasedQuestions, at now: Instant, _ effects: inout [Effect]
  ) {
    guard case .leasing(step, let since, _) = phase else { return }  // late
    // The lease runs from some moment between asking and hearing; the earlier one is safe.
    leaseEnd = since.advanced(by: questions.expiresIn)
    (answeredBefore, unwantedBefore) = (report.answered, report.unwanted)
    line = questions.questions.map(Item.question) + questions.rejected.map(Item.rejected)
    moveUp(at: now, &effects)
  }

  /// Answers the first in line, or asks for more when there is none.
  private mutating func moveUp(at now: Instant, _ effects: inout [Effect]) {
    guard let first = line.first else {
      // A round that got nothing done would be followed by its like.
      guard report.answered > answeredBefore else { return finish(.finished, at: now, &effects) }
      return lease(tries: 0, at: now, &effects)
    }
    switch first {
    case .rejected: refuse("", at: now, &effects)
    case .question(let leased):
      let left = now.duration(to: limit) - settings.sendTime
      guard left >= settings.leastTime else { return finish(.outOfTime, at: now, &effects) }
      let step = newStep()
      become(.reading(step, until: now.advanced(by: left)), &effects)
      effects.append(.read(step, leased))
    }
  }

  mutating func prepared(
    _ step: StepID, _ parts: Int, at now: Instant, _ effects: inout [Effect]
  ) {
    guard case .reading(step, _) = phase else { return effects.append(.discard(step)) }  // late
    post(.part(of: step, index: 0, count: max(parts, 1)), at: now, &effects)
  }

  /// Says why there is no answer to the first in line.
  mutating func refuse(_ reason: String, at now: Instant, _ effects: inout [Effect]) {
    guard let first = line.first else { return }
    post(.failure(first.failure(reason)), at: now, &effects)
  }

  mutating func post(
    _ reply: Reply, tries: Int = 0, at now: Instant, _ effects: inout [Effect]
  ) {
    guard let first = line.first else { return }
    let left = now.duration(to: limit)
    guard left >= settings.leastTime else { return finish(.outOfTime, at: now, &effects) }
    let within = min(left, settings.exchangeLimit)
    let step = newStep()
    become(.posting(step, reply, tries: tries), &effects)
    switch reply {
    case .part(let work, let index, _):
      effects.append(
        .post(step, of: work, part: index, lease: first.lease, within: within))
    case .failure(let message):
      let result = LeasedResult(lease: first.lease, message: message)
      effects.append(.refuse(step, result, within: within))
    }
  }

  mutating func posted(_ step: StepID, at now: Instant, _ effects: inout [Effect]) {
    guard case .posting(step, let reply, _) = phase else { return }  // late
    if case .part(let work, let index, let count) = reply, index + 1 < count {
      post(.part(of: work, index: index + 1, count: count), at: now, &effects)
    } else {
      report.answered += 1
      done(at: now, &effects)
    }
  }

  /// The first in line needs nothing more.
  private mutating func done(at now: Instant, _ effects: inout [Effect]) {
    line.removeFirst()
    moveUp(at: now, &effects)
  }

  /// Until when the present leases and the budget last.
  var limit: Instant { min(end, leaseEnd) }
}

// What failed, and the end.
extension PullModel {
  mutating func failed(
    _ step: StepID, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    switch phase {
    case .leasing(step, _, let tries):
      guard !repeats(.lease, tries, failure, until: end, at: now) else { return }
      finish(Self.ending(ofLease: failure), at: now, &effects)
    case .posting(step, let reply, let tries):
      guard !repeats(.post(reply), tries, failure, until: limit, at: now) else { return }
      notTaken(reply, failure, at: now, &effects)
    case .new, .leasing, .reading, .posting, .pausing, .ended: return  // late
    }
  }

  /// Whether the same will be tried again: after a wait that the backend may lengthen, if enough
  /// time is left then.
  private mutating func repeats(
    _ pending: Pending, _ tries: Int, _ failure: LinkFailure, until limit: Instant, at now: Instant
  ) -> Bool {
    guard failure.mayPass,
      let wait = settings.retries.shortestWait(before: tries, atLeast: failure.serverWish)
    else { return false }
    let due = now.advanced(by: wait)
    guard due.duration(to: limit) >= settings.leastTime else { return false }
    phase = .pausing(until: due, pending, tries: tries + 1)
    return true
  }

  private mutating func notTaken(
    _ reply: Reply, _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    switch failure {
    case .http(401, _, _), .http(403, _, _): finish(.signedOut, at: now, &effects)
    case .http(409, _, _):
      // The lease is over: the question is the backend's again.
      report.left += 1
      done(at: now, &effects)
    case .http(413, _, _):
      guard case .part = reply else { return unwanted(at: now, &effects) }
      refuse("the answer is longer than the backend takes", at: now, &effects)
    case .http(let status, _, _) where (400..<500).contains(status) && !failure.mayPass:
      unwanted(at: now, &effects)
    case .http, .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed,
      .protocolError, .proxy, .captivePortal, .local:
      finish(.failed(failure), at: now, &effects)
    }
  }

  private mutating func unwanted(at now: Instant, _ effects: inout [Effect]) {
    report.unwanted += 1
    done(at: now, &effects)
  }

  private static func ending(ofLease failure: LinkFailure) -> PullReport.Ending {
    switch failure {
    case .http(401, _, _), .http(403, _, _): .signedOut
    // RFC 9110 sections 15.5.5, 15.5.6 and 15.6.2: no such route, not this way, not at all.
    case .http(404, _, _), .http(405, _, _), .http(501, _, _): .unsupported
    case .http, .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed,
      .protocolError, .proxy, .captivePortal, .local:
      .failed(failure)
    }
  }

  mutating func finish(
    _ ending: PullReport.Ending, at now: Instant, _ effects: inout [Effect]
  ) {
    guard phase != .ended else { return }
    become(.ended, &effects)
    report.left += line.count
    report.ending = ending
    report.again = again(after: ending, at: now)
    line = []
    effects.append(.finish(report))
  }

  /// Leased questions can be had again when their leases are over; until then there is nothing.
  /// Behind questions whose answers were refused others may wait, but a backend that keeps these
  /// questions would have each visit followed by its like: the pause is the longest.
  private func again(after ending: PullReport.Ending, at now: Instant) -> Duration? {
    switch ending {
    case .signedOut, .unsupported: nil
    case .finished where report.left > 0: PullSettings.pause
    case .finished: report.unwanted > unwantedBefore ? PullSettings.longestPause : nil
    case .outOfTime, .cancelled:
      line.isEmpty
        ? PullSettings.pause : max(now.duration(to: leaseEnd), settings.leastTime)
    case .failed(let failure):
      failure.mayPass
        ? min(max(failure.serverWish ?? .zero, PullSettings.pause), PullSettings.longestPause)
        : nil
    }
  }
}

extension LinkFailure {
  /// Whether the same exchange may well succeed a little later.
  fileprivate var mayPass: Bool {
    switch failureClass {
    case .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy,
      .tooManyRequests, .unavailable, .serverError:
      serverStatus != 501
    case .tls, .protocolError, .captivePortal, .local, .badRequest, .unauthorized, .forbidden,
      .notFound, .otherStatus, .closedNormally, .closedRestart, .closedPolicy,
      .closedUnauthorized, .closedForbidden, .closedReplaced, .closedOther:
      serverStatus == 408
    }
  }

  private var serverStatus: Int? {
    guard case .http(let status, _, _) = self else { return nil }
    return status
  }
}
