import BottleLink
import LinkCore
import LinkWire

// What of a bottle's steps is part of a run's digest, beside their roles.
extension BottleFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .recorded(let id): digest.mix(1, UInt64(id))
    case .gone(let id): digest.mix(2, UInt64(id))
    case .stored(let id): digest.mix(3, UInt64(id))
    case .advertises(let isOn): digest.mix(4, isOn ? 1 : 2)
    case .linked(let isOn): digest.mix(5, isOn ? 1 : 2)
    case .stamped(let isValid): digest.mix(6, isValid ? 1 : 2)
    case .altered(let id): digest.mix(7, UInt64(id))
    case .erased: digest.mix(8)
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .start, .stop, .link: digest.mix(1)
    case .refresh(let id), .perform(let id, _): digest.mix(2, id)
    case .hold(let isHeld): digest.mix(3, isHeld ? 1 : 2)
    case .choose: digest.mix(4)
    case .shown(let number): digest.mix(5, number)
    case .central(let event): mix(event, into: &digest)
    case .discovered(_, let longest, let state, let time):
      digest.mix(6, UInt64(longest), UInt64(state.unsynced))
      digest.mix(time)
    case .undiscovered: digest.mix(7)
    case .heard(_, let news, let time):
      mix(news, into: &digest)
      digest.mix(time)
    case .written(let id): digest.mix(8, id.number)
    case .unwritten(let id, _): digest.mix(9, id.number)
    case .restored(let kept): digest.mix(10, UInt64(kept.unshown.count))
    case .committed(let id, let drinks): digest.mix(11, id, UInt64(drinks.count))
    case .uncommitted(let id, _): digest.mix(12, id)
    }
  }

  private static func mix(_ event: CentralEvent, into digest: inout Digest) {
    switch event {
    case .adapter(let state): digest.mix(state.rawValue)
    case .restored(let all): digest.mix(20, UInt64(all.count))
    case .found(let id, _): digest.mix(id.id)
    case .connected, .failed, .disconnected, .value: digest.mix(21)
    }
  }

  private static func mix(_ news: BottleModel.News, into digest: inout Digest) {
    switch news {
    case .state(let state):
      digest.mix(30, UInt64(state.unsynced), UInt64(state.level))
      digest.mix(UInt64(state.time))
    case .chunk(let chunk):
      digest.mix(31, UInt64(chunk.index), UInt64(chunk.total))
      for record in chunk.records { digest.mix(UInt64(record.id), UInt64(record.time)) }
    case .calibration: digest.mix(32)
    case .battery(let percent): digest.mix(33, UInt64(percent))
    case .brokenChunk: digest.mix(34)
    case .malformed: digest.mix(35)
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .scan: digest.mix(1)
    case .stopScan: digest.mix(2)
    case .connect(let attempt, _, let isQueued, let rest):
      digest.mix(3, attempt.number, isQueued ? 1 : 2)
      digest.mix(UInt64(rest.nanoseconds))
    case .cancel(let attempt): digest.mix(4, attempt.number)
    case .discover(let attempt): digest.mix(5, attempt.number)
    case .write(_, let id, let attribute, let bytes):
      digest.mix(6, id.number, UInt64(attribute.rawValue))
      for byte in bytes { digest.mix(UInt64(byte)) }
    case .commit(let id, let change): digest.mix(7, id, UInt64(change.records.count))
    case .confirm(let number): digest.mix(8, number)
    case .update(let update): mix(update, into: &digest)
    }
  }

  private static func mix(_ update: BottleUpdate, into digest: inout Digest) {
    switch update {
    case .status(let status):
      digest.mix(status.phase.rawValue)
      for part in status.outstanding { digest.mix(part.rawValue) }
    case .drink(let drink): digest.mix(40, drink.number)
    case .bottle(let state): digest.mix(41, UInt64(state.unsynced))
    case .calibration: digest.mix(42)
    case .refreshed(let id, let result):
      digest.mix(43, id)
      if case .synced(let count) = result { digest.mix(UInt64(count)) }
    case .performed(let id, _): digest.mix(44, id)
    case .notice: digest.mix(45)
    }
  }
}
