import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// What assistants and strangers do that a good client does not, or seldom.
extension RelayWorld {
  mutating func beginOddity(_ verb: RelayVerb, _ act: Act<RelayVerb>, _ index: Int) {
    switch verb {
    case .asksMore: askMore(index, patience: act.time)
    case .repeats: askAgain(index, patience: act.time)
    case .logsOutAtOnce:
      guard let token = askers[index].token else { return }
      call(index, .logout, token: token, patience: .seconds(60))
    case .triesOldPair:
      guard askers[index].open.isEmpty, let pair = askers[index].pair else { return }
      logIn(index, with: pair)
    case .pairsAgain:
      askers[index].again += act.number
      guard askers[index].open.isEmpty else { return }
      pairAgain(index)
      signInSoon(index, after: .seconds(5))
    case .asks, .leaves, .logsOut, .stop, .slowReading, .unsent, .strangeMessage, .guesses: return
    }
  }

  /// The most calls of an assistant that wait.
  private static var mostCalls: Int { 4 }

  private mutating func askMore(_ index: Int, patience: Duration) {
    guard askers[index].open.count < Self.mostCalls else { return }
    askAnew(index, token: askers[index].token, patience: patience)
  }

  private mutating func askAgain(_ index: Int, patience: Duration) {
    guard askers[index].open.count < Self.mostCalls,
      let question = lastQuestions[askers[index].phone]
    else { return }
    kernel.counts[.questions] += 1
    call(
      index, .question(.numbered(question)), token: askers[index].token, patience: patience)
  }

  /// Gives up the token, if the assistant is to pair again; after the last time it asks with the
  /// first token that it had.
  mutating func pairAgain(_ index: Int) {
    guard let token = askers[index].token else { return }
    if askers[index].again > 0 {
      askers[index].again -= 1
      askers[index].former.append(token)
      askers[index].token = nil
    } else if let first = askers[index].former.first {
      askers[index].former = []
      askAnew(index, token: first, patience: .seconds(60))
    }
  }

  /// A stranger tries a word that a phone shows with a code that none shows, from one of four
  /// addresses.
  mutating func guess() {
    guard kernel.hosts[server.place].isRunning else { return }
    lastGuess += 1
    lastAsk += 1
    let word = phones[lastGuess % phones.count].pair?.word.text ?? "anchor"
    let code = "x\(lastGuess)"
    var facts = RelayCallFacts(asker: RelayFeature.askers + lastGuess % 4)
    facts.pair = RelayGivenPair(text: "\(word) \(code)", isGuess: true)
    take(AskID(lastAsk), .login(word: word, code: code), of: facts)
  }
}

extension WorldPlan<RelayFeature> {
  /// The longest time that a question takes at a phone that is there and has nothing else to do:
  /// reading, and each message there and back.
  var turn: Duration {
    // A message is late by up to 3.2 s where some are lost.
    let way = weather.delay + weather.jitter + (weather.loss > 0 ? .milliseconds(3_200) : .zero)
    let parts = numbers.answerBytes / 1_900 + 2
    let bytes = Int64(numbers.answerBytes + 4_000) * 2
    let time =
      weather.bandwidth > 0
      ? Duration.nanoseconds(bytes * 1_000_000_000 / weather.bandwidth) : .zero
    return numbers.reading + way * (2 * parts) + time + .seconds(1)
  }
}
