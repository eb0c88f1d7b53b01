// A program for boards and web pages that plays one scripted link and one random link of each
// preset, and prints their effects. scripts/embedded compiles it with Sources/Base/Core, for Embedded
// Swift and for the host, whose outputs must be the same. The package never compiles it.

/// A link with its clock, and a digest of its effects.
struct Played {
  var link: HeldLink
  var now = Instant.zero
  /// The FNV-1a hash of all lines.
  var digest: UInt64 = 0xCBF2_9CE4_8422_2325
  var effects = 0
  let isShown: Bool

  init(_ policy: LinkPolicy, seed: UInt64, isShown: Bool) {
    link = HeldLink(policy: policy, seed: seed)
    self.isShown = isShown
  }

  mutating func give(_ input: HeldLink.Input) { note(link.handle(input, at: now)) }

  mutating func wait(_ duration: Duration) {
    now = now.advanced(by: duration)
    note(link.tick(at: now))
  }

  mutating func waitForDeadline() {
    if let deadline = link.deadline { wait(max(now.duration(to: deadline), .zero)) }
  }

  private mutating func note(_ new: [HeldLink.Effect]) {
    for effect in new {
      effects += 1
      let line = "\(Instant.zero.duration(to: now).text) \(text(of: effect))"
      for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
      if isShown { print(line) }
    }
    for name in link.brokenInvariants(.thorough) { print("broken: \(name)") }
  }
}

func text(of effect: HeldLink.Effect) -> String {
  switch effect {
  case .prepare(let attempt): "prepare \(attempt.number)"
  case .open(let attempt): "open \(attempt.number)"
  case .close(let attempt, let reason): "close \(attempt.number) \(reason.rawValue)"
  case .ping(let attempt, let id): "ping \(attempt.number) \(id)"
  case .refreshCredentials: "refresh"
  case .poll(let id): "poll \(id)"
  case .arm(let attempt, let rest): "arm \(attempt.number) \(rest.nanoseconds)"
  case .disarm(let attempt): "disarm \(attempt.number)"
  case .status(let status): text(of: status)
  }
}

func text(of status: LinkStatus) -> String {
  var words = ["status", status.phase.rawValue, "\(status.attempt)", status.mode.rawValue]
  if let attempts = status.maxAttempts { words.append("of \(attempts)") }
  if let retryAt = status.retryAt { words.append("at \(retryAt.nanoseconds)") }
  if let quality = status.quality { words.append(quality.rawValue) }
  switch status.reason {
  case .blocked(let reason): words.append(reason.rawValue)
  case .failure(let failure): words.append("after \(failure.failureClass.rawValue)")
  case .signIn: words.append("signIn")
  case .exhausted(let failure): words.append("exhausted by \(failure.failureClass.rawValue)")
  case .ended(let reason): words.append("ended \(reason.rawValue)")
  case .debouncing: words.append("settling")
  case .limited: words.append("limited")
  case nil: break
  }
  return words.joined(separator: " ")
}

/// Plays a link that opens, times out in silence and reconnects, and then loses its server forever.
func tell() {
  var played = Played(.messageStream, seed: 7, isShown: true)
  played.give(.reachability(.reachable(path: PathID("wlan0"))))
  played.give(.credentials(.available(expiresIn: .seconds(3600))))
  played.give(.setIntent(.live))
  func open() {
    if let attempt = played.link.currentAttempt { played.give(.prepared(attempt)) }
    played.wait(.milliseconds(40))
    if let attempt = played.link.currentAttempt { played.give(.opened(attempt)) }
  }
  open()
  if let attempt = played.link.currentAttempt { played.give(.validData(attempt)) }
  for _ in 0..<3 { played.waitForDeadline() }
  open()
  if let attempt = played.link.currentAttempt { played.give(.lost(attempt, .reset)) }
  for _ in 0..<24 {
    if let attempt = played.link.currentAttempt { played.give(.lost(attempt, .refused)) }
    played.waitForDeadline()
  }
  played.give(.setIntent(.none))
}

/// Plays random inputs on a link of a preset, and prints the digest of its effects.
func play(_ policy: LinkPolicy, steps: Int) {
  var generator = RandomSource(seed: 20)
  var played = Played(policy, seed: 3, isShown: false)
  played.give(.setIntent(.live))
  for _ in 0..<steps {
    switch generator.next() % 4 {
    case 0: played.waitForDeadline()
    case 1: played.wait(generator.duration(below: .seconds(20)))
    case _:
      let draw = generator.next()
      if let input = input(draw, of: played.link, &generator) { played.give(input) }
    }
  }
  let digest = String(played.digest, radix: 16)
  let time = Instant.zero.duration(to: played.now).text
  print("\(policy.name): \(played.effects) effects in \(time), digest \(digest)")
}

/// Writes a preset as text, prints the text, and reads it back.
func copied(_ policy: LinkPolicy) -> LinkPolicy {
  print("\(policy.name): \(policy.values.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))")
  do {
    return try policy.setting(policy.values)
  } catch {
    print(error.description)
    return policy
  }
}

func input(_ draw: UInt64, of link: HeldLink, _ generator: inout RandomSource) -> HeldLink.Input? {
  if draw % 4 == 0 { return environment(draw >> 8, &generator) }
  guard let attempt = link.currentAttempt ?? link.queuedAttempt else {
    return .polled(draw >> 8 % 8, draw % 3 == 0 ? .refused : nil)
  }
  switch draw >> 8 % 12 {
  case 0...2: return .prepared(attempt)
  case 3, 4: return .opened(attempt)
  case 5: return .established(attempt)
  case 6: return .heard(attempt)
  case 7: return .validData(attempt)
  case 8: return .pong(attempt, 1)
  case 9: return .lost(attempt, failure(generator.next()))
  case 10: return .reject(attempt, failure(generator.next()))
  case _: return .draining(attempt, within: generator.duration(below: .seconds(60)))
  }
}

func environment(_ draw: UInt64, _ generator: inout RandomSource) -> HeldLink.Input {
  switch draw % 14 {
  case 0: .reachability(.unreachable)
  case 1, 2: .reachability(.reachable(path: PathID("wlan0")))
  case 3: .reachability(.reachable(path: PathID("wwan0"), traits: [.cellular, .expensive]))
  case 4: .reachability(.captivePortal)
  case 5: .lifecycle(.background)
  case 6, 7: .lifecycle(.foreground)
  case 8, 9: .credentials(.available(expiresIn: generator.duration(below: .seconds(600))))
  case 10: .credentials(.refreshFailed())
  case 11: .setIntent(.standbyOnly)
  case 12: .trigger(.woke)
  case _: .setIntent(.live)
  }
}

func failure(_ draw: UInt64) -> LinkFailure {
  switch draw % 8 {
  case 0: .refused
  case 1: .timeout(.upgrade)
  case 2: .http(status: 401, retryAfter: nil, detail: "")
  case 3: .http(status: 429, retryAfter: .seconds(Int64(draw >> 8 % 90)), detail: "")
  case 4: .http(status: 503, retryAfter: nil, detail: "")
  case 5: .closed(code: 1012, reason: "restart")
  case 6: .dns(detail: "no such name")
  case _: .reset
  }
}

@main struct Program {
  static func main() {
    tell()
    for policy in LinkPolicy.presets { play(copied(policy), steps: 5_000) }
    print("a link has \(MemoryLayout<HeldLink>.size) bytes")
  }
}
