public import LinkCore
import LinkStorage

// What always holds between the tables of the relay.
extension RelayServer {
  /// Notes each invariant that does not hold now.
  public func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "relay server: nothing is asked for between two inputs")
    check.require(
      calls.count + pending.count <= policy.maxCalls && sockets.count <= policy.maxSockets,
      "relay server: calls and sockets are bounded")
    check.require(
      calls.count == callsByRequest.count && callsByAsk.count <= calls.count,
      "relay server: each call is found by its question")
    check.require(
      gathered >= 0 && gathered <= policy.maxGatheredBytes,
      "relay server: the bytes of unfinished answers are bounded")
    check.require(
      addresses.count <= sockets.count,
      "relay server: addresses are counted only while they have sockets")
    check.require(
      (owedEnds.isEmpty && owedPhones.isEmpty) || alarms.rings(.store, by: .latest),
      "relay server: what the store failed has an alarm")
    check.require(
      unnoted.isEmpty || alarms.rings(.notes, by: .latest),
      "relay server: what the store is to be told later has an alarm")
    check.require(
      mode != .finished || (sockets.isEmpty && waits.isEmpty && calls.isEmpty),
      "relay server: a drain ends when nothing is left to wait for")
    alarms.check(&check)
    knocks.check(&check)
    lockOut.check(&check)
    pairs.check(&check)
    signedOut.check(&check)
    guard check.isThorough else { return }
    checkCalls(&check)
    checkLines(&check)
    checkPhones(&check)
    checkAccesses(&check)
    checkSockets(&check)
  }

  private func checkCalls(_ check: inout InvariantCheck) {
    check.require(
      calls.allSatisfy { id, call in
        callsByRequest[call.id] == id && (call.ask.map { callsByAsk[$0] == id } ?? true)
      } && callsByAsk.count == calls.values.count { $0.ask != nil },
      "relay server: a call is known by its question and by its asker")
    check.require(
      calls.allSatisfy { alarms.rings(.call($0.key), by: $0.value.wake) },
      "relay server: each call has an alarm")
    check.require(
      pending.keys.allSatisfy { alarms.rings(.pending($0), by: .latest) },
      "relay server: each login and logout that waits has an alarm")
    check.require(
      calls.values.allSatisfy { accesses[$0.asker]?.phone == $0.phone },
      "relay server: a call is of an access to its phone")
    check.require(
      gathered == calls.values.reduce(0) { $0 + $1.bytes },
      "relay server: the bytes are those of unfinished answers")
    check.require(
      calls.values.allSatisfy { call in
        guard case .asked(let connection) = call.stage else { return true }
        return phones[call.phone]?.connection == connection
      }, "relay server: a call is asked on the connection of its phone")
    check.require(
      calls.values.allSatisfy { call in
        guard case .leased = call.stage else { return call.leases <= call.tries }
        return call.leases > 0 && call.leases <= call.tries
      }, "relay server: a lease is one of the tries of a call")
  }

  private func checkLines(_ check: inout InvariantCheck) {
    let places = phones.values.reduce(0) { $0 + $1.line.count }
    check.require(
      places == calls.count
        && phones.allSatisfy { id, phone in phone.line.allSatisfy { calls[$0]?.phone == id } },
      "relay server: a call is in the line of its phone, once")
    check.require(
      phones.values.allSatisfy {
        $0.line.count <= policy.callsPerPhone && $0.settled.count <= policy.maxSettled
          && $0.tokens.count <= policy.tokensPerPhone
      }, "relay server: what is kept of a phone is bounded")
    check.require(
      phones.values.allSatisfy { phone in
        phone.line.count { calls[$0]?.isAsked ?? false } <= 1
      }, "relay server: a phone is asked one question at a time")
  }

  private func checkPhones(_ check: inout InvariantCheck) {
    check.require(
      phones.values.allSatisfy { !$0.isOver || ($0.line.isEmpty && !$0.tokens.isEmpty) },
      "relay server: a phone that is over is kept for its tokens alone")
    check.require(
      phones.allSatisfy { id, phone in
        guard case .away = phone.presence else { return true }
        return alarms.rings(.grace(id), by: .latest)
      }, "relay server: a phone that is away has a grace")
    check.require(
      phones.allSatisfy { id, phone in
        guard case .away = phone.presence, phone.push != nil, !isRegistering(id) else {
          return true
        }
        let isNew = phone.line.contains { calls[$0]?.isNew(since: phone.knockedAt) ?? false }
        return !isNew || alarms.rings(.knock(id), by: .latest)
      }, "relay server: a phone is woken for what waits, or has an alarm for it")
    check.require(
      devices.allSatisfy { phones[$0.value]?.device == $0.key && phones[$0.value]?.isOver == false }
        && resumes.allSatisfy {
          phones[$0.value]?.resume == $0.key && phones[$0.value]?.isOver == false
        }, "relay server: a device and a resume token lead to a phone that may come back")
    check.require(
      pairs.shown.allSatisfy { shown in
        phones[shown.phone]?.isOver == false && alarms.rings(.pair(shown.phone), by: shown.until)
      }, "relay server: a pair is shown by a phone, and expires")
  }

  /// Whether the address of a phone waits for the store.
  private func isRegistering(_ id: PhoneID) -> Bool {
    waits.values.contains { if case .push(_, id) = $0.wait { true } else { false } }
  }

  private func checkAccesses(_ check: inout InvariantCheck) {
    check.require(
      accesses.allSatisfy { token, access in
        phones[access.phone]?.tokens.contains(token) ?? false
      } && accesses.count == phones.values.reduce(0) { $0 + $1.tokens.count },
      "relay server: a token is an access to one phone")
    check.require(
      accesses.keys.allSatisfy { alarms.rings(.access($0), by: .latest) },
      "relay server: each access ends")
  }

  private func checkSockets(_ check: inout InvariantCheck) {
    let counts = sockets.values.reduce(into: [String: Int]()) { $0[$1.address, default: 0] += 1 }
    check.require(
      counts == addresses, "relay server: an address's count is that of its sockets")
    check.require(
      arrivals.keys.allSatisfy { sockets[$0] != nil && sockets[$0]?.phone == nil },
      "relay server: an arrival is a socket whose phone has no name yet")
    check.require(
      sockets.values.allSatisfy { $0.owed >= 0 },
      "relay server: a plain phone owes no less than nothing")
  }
}

extension RelayCall {
  /// Whether it was sent on a socket.
  fileprivate var isAsked: Bool {
    switch stage {
    case .asked: true
    case .waiting, .leased: false
    }
  }
}

extension Instant {
  /// The end of time.
  fileprivate static var latest: Instant { Instant(nanoseconds: .max) }
}
