public import HoldfastCore
import HoldfastRelayData

// Grants: accesses of clients that signed in on a page (OAuth). A grant lasts as long as its client
// renews it, and counts as one of the phone's assistants.
extension RelayServer {
  /// Returns whether a token is a grant of a phone that can still be asked.
  public func admits(_ grant: TokenHash, at now: Instant) -> Bool {
    guard tokens.isGrant(grant, at: now), let access = tokens[grant] else { return false }
    return phones[access.phone]?.isOver == false
  }

  /// Renews a grant. A generation that is too old ends the grant, since a copy of the client's
  /// token exists.
  ///
  /// A client may lose an answer, or renew twice at once. So for a time the previous generation
  /// leads to the current one again.
  mutating func renew(
    _ call: RequestID, from generation: UInt64, _ bearer: TokenHash?, wall: Timestamp
  ) {
    guard let bearer, let access = tokens[bearer], let current = access.stored.generation,
      now < access.expiresAt, phones[access.phone]?.isOver == false
    else { return refuse(call, .notSignedIn) }
    // A later generation exists if the store was replaced by a backup.
    let isPrevious = generation < .max && generation + 1 == current
    guard generation < .max,
      generation >= current || (isPrevious && (access.isRenewing || now < access.graceUntil))
    else {
      forget(bearer)
      return refuse(call, .notSignedIn)
    }
    guard !access.isRenewing else { return wait(call, .renewal(bearer)) }
    guard !isPrevious else { return answer(call, .renewed(generation: current)) }
    wait(call, .renewal(bearer))
    extend(bearer, access, to: generation + 1, by: policy.grantLife, wall: wall)
    tokens.beginRenewal(of: bearer)
    guard let renewed = tokens[bearer] else { return }
    store([.access(renewed.stored)], then: .renewal(before: access))
  }

  /// Reports a renewal to all that wait for it, once it is durable.
  ///
  /// A client that received no new tokens still has its old ones. They stay valid: the access
  /// returns to its earlier state.
  mutating func renewed(before: RelayAccess, failure: StoreFailure?) {
    let token = before.stored.token
    let calls = tokens.endRenewal(of: token).filter { endWaiting($0) }
    guard let generation = tokens[token]?.stored.generation else {
      for call in calls { refuse(call, .notSignedIn) }
      return
    }
    guard calls.isEmpty || failure != nil else {
      tokens.beginGrace(of: token, at: now)
      for call in calls { answer(call, .renewed(generation: generation)) }
      return
    }
    restore(before)
    if failure == nil { store([.access(before.stored)]) }
    for call in calls { refuse(call, storeFailed) }
  }

  private mutating func restore(_ access: RelayAccess) {
    let token = access.stored.token
    tokens.renew(
      token, generation: access.stored.generation, until: access.expiresAt,
      wall: access.stored.expiresAt)
    alarms.set(.access(token), at: access.expiresAt.advanced(by: policy.tokenMemory))
    armGrace(access.phone)
  }

  /// Extends an access, and sets its generation.
  mutating func extend(
    _ token: TokenHash, _ access: RelayAccess, to generation: UInt64?, by life: Duration,
    wall: Timestamp
  ) {
    let until = now.advanced(by: life)
    tokens.renew(token, generation: generation, until: until, wall: wall.advanced(by: life))
    alarms.set(.access(token), at: until.advanced(by: policy.tokenMemory))
    armGrace(access.phone)
  }

  /// Ends the grants of a phone whose pairing is over. Their clients sign in anew by themselves.
  mutating func endGrants(of phone: PhoneID) {
    for access in tokens.accesses(to: phone) where access.stored.generation != nil {
      forget(access.stored.token)
    }
  }
}
