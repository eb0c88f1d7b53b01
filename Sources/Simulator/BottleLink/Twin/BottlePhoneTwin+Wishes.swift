import BottleLink
import LinkCore
import LinkWire

// What a user asks for, and how it ends.
extension BottlePhoneTwin {
  mutating func perform(_ id: UInt64, _ request: BottleRequest) {
    guard let written = BottleWish.written(request) else {
      said.append(.update(.performed(id, .invalid(""))))
      return
    }
    var new = Wish(id: id, written: written, until: now.advanced(by: .seconds(15)))
    if case .command(.delete(let record)) = request { new.deletes = record }
    wish(new)
  }

  mutating func wish(_ new: Wish) {
    // A person asks: 32 at once are enough.
    guard wishes.count < 32 else { return end(new, .connectionFailed) }
    wishes.append(new)
    guard connection?.isReady == true else { return }
    connection?.usedAt = now
    connection?.failures = 0
    connection?.vain = nil
    connection?.syncAt = nil
    sendWishes()
    startSync()
  }

  mutating func sendWishes() {
    for place in wishes.indices where !wishes[place].isSent {
      guard let written = wishes[place].written else { continue }
      (wishes[place].isSent, wishes[place].sawState) = (true, false)
      said.append(.write(written.attribute, written.bytes, .wish(wishes[place].id)))
    }
  }

  /// A deletion is confirmed by the state that follows it.
  mutating func answered(wish id: UInt64, isTaken: Bool) {
    guard let place = wishes.firstIndex(where: { $0.id == id }) else { return }
    connection?.usedAt = now
    if isTaken, let record = wishes[place].deletes {
      guard wishes[place].sawState else {
        wishes[place].isConfirming = true
        wishes[place].until = now.advanced(by: .seconds(5))
        return
      }
      noteDeleted(record, at: wall)
    }
    wishes.remove(at: place)
    said.append(.update(.performed(id, isTaken ? .done : .refused)))
  }

  mutating func confirm(at time: Timestamp) {
    for place in wishes.indices { wishes[place].sawState = true }
    for wish in wishes where wish.isConfirming {
      if let record = wish.deletes { noteDeleted(record, at: time) }
      said.append(.update(.performed(wish.id, .done)))
    }
    wishes.removeAll(where: \.isConfirming)
  }

  private mutating func noteDeleted(_ record: UInt32, at time: Timestamp) {
    var change = DrinkChange(at: time)
    change.deleted = record
    said.append(.commit(change))
  }

  /// Ends what cannot succeed, and refreshes of a connection that has nothing to fetch.
  mutating func answerWishes() {
    guard !wishes.isEmpty else { return }
    let isReady = connection?.isReady == true
    for place in wishes.indices {
      if found != nil || connection != nil { wishes[place].wasFound = true }
      if isReady { wishes[place].wasConnected = true }
    }
    switch adapter {
    case .off: endAll(.bluetoothOff)
    case .unauthorised, .unsupported: endAll(.bluetoothUnavailable)
    case .on, .resetting, .unknown: break
    }
    if isReady, sync == .idle, connection?.syncAt == nil { endRefreshes(.alreadySynced) }
  }

  private mutating func endAll(_ result: BottleRefreshResult) {
    for wish in wishes { end(wish, result) }
    wishes = []
  }

  mutating func endRefreshes(_ result: BottleRefreshResult) {
    for wish in wishes where wish.written == nil { end(wish, result) }
    wishes.removeAll { $0.written == nil }
  }

  mutating func end(_ wish: Wish, _ result: BottleRefreshResult) {
    guard wish.written != nil else {
      said.append(.update(.refreshed(wish.id, result)))
      return
    }
    said.append(
      .update(.performed(wish.id, wish.isSent ? .unconfirmed : .notSent(result))))
  }
}

extension BottlePhoneTwin.Wish {
  /// What it ends with when its time is over.
  var late: BottleRefreshResult {
    wasConnected ? .syncFailed : wasFound ? .connectionFailed : .bottleAsleep
  }
}
