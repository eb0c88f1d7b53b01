import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Random edits and deletions, compared with the server's log after calm.
struct RandomEventTests {
  @Test(arguments: 0..<100)
  func `after calm, the phone has what the server has`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var world = StreamHarness.withEvents(messages: 70, seed: seed) {
      $0.memory = seed % 3 == 0 ? 30 : 1_000
      $0.catchUpPage = seed % 2 == 0 ? 5 : 100
      $0.historyPage = 20
    }
    world.shop.backlog = [nil, 8, 100][Int(seed % 3)]
    world.shop.mostChanges = seed % 4 == 0 ? 3 : 1_000
    for number in 0..<120 { world.take(random.next(), number, &random) }
    world.calm()
    world.compareEvents()
    #expect(world.ledger.problems == [])
    world.scrollToTheBeginning()
    world.pass(.seconds(5))
    world.compareEvents()
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.ledger.problems == [])
  }
}

extension StreamHarness {
  /// Ends all trouble and waits until the phone is complete.
  fileprivate mutating func calm() {
    (net.lag, disk.delay, disk.failure) = (.milliseconds(20), .milliseconds(2), nil)
    if !phone.isRunning { relaunch() }
    foreground()
    let isCalm = drive(within: .seconds(900)) {
      $0.model.isWhole && $0.model.link.status.phase == .connected
    }
    if !isCalm { ledger.blame("never complete") }
    pass(.seconds(60))
    for entry in model.outbox.entries {
      if case .queued = entry.state { ledger.blame("never sent: \(entry.text)") }
    }
    if shownTexts != texts { ledger.blame("a change that ended is still shown") }
  }

  fileprivate mutating func take(_ draw: UInt64, _ number: Int, _ random: inout RandomSource) {
    let texts = shop.log.suffix(random.next() % 3 == 0 ? 100 : 12).map(\.text)
    let text = texts.isEmpty ? "" : texts[Int(random.next() % UInt64(texts.count))]
    switch draw % 20 {
    case 0...4: say("n\(number)", late: draw % 7 == 0 ? .seconds(40) : .zero)
    case 5...9: edit(text, to: "e\(number)")
    case 10...12: delete(text)
    case 13: cut()
    case 14: if draw % 64 < 8 { trouble(draw) } else { give(.loadOlder) }
    case 15:
      net.lag = [.zero, .milliseconds(300), .seconds(3)][Int(random.next() % 3)]
      disk.delay = random.next() % 2 == 0 ? .milliseconds(2) : .milliseconds(700)
    case 16: send("own\(number)")
    case 17: pass(.seconds(30))
    case 18, 19: if let id = id(of: text) { changeOwn(id, to: "o\(number)", draw) }
    case _: break
    }
    pass(.milliseconds(Int64(random.next() % 400)))
  }

  /// Edits or deletes a message of the phone's user or, rarely, of another one, which is refused.
  private mutating func changeOwn(_ id: MessageID, to text: String, _ draw: UInt64) {
    let own = shop.log.filter { $0.user == "me" }.map(\.id)
    let target = draw % 7 == 0 ? id : own.last ?? id
    if draw % 3 == 0 { delete(target) } else { edit(target, text: text) }
  }

  private mutating func trouble(_ draw: UInt64) {
    switch draw % 3 {
    case 0:
      kill()
      pass(.seconds(draw % 5 == 0 ? 9_000 : 20))
      relaunch()
    case 1:
      background()
      pass(.seconds(draw % 2 == 0 ? 9_000 : 20))
      foreground()
    case _: disk.failure = disk.failure == nil ? .full(detail: "") : nil
    }
  }
}
