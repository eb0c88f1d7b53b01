import LinkCore

/// Every number of the relay.
///
/// Defaults: pairs of 10 minutes, tokens of 7,200 s (contract 1.7), calls of 45 s (contract 1.9),
/// leases of 25 s (what a phone gets after a push); the rest is ours. Times below 1 ms are taken as
/// 1 ms and counts below 1 as 1.
public struct RelayServerPolicy: Sendable, Hashable {
  /// How long a pair can be used; then the phone shows a fresh one.
  public var pairLife = Duration.seconds(600)
  /// How long a bearer token is good.
  public var tokenLife = Duration.seconds(7_200)
  /// How long an expired token is remembered, so that its holder is told why.
  public var tokenMemory = Duration.seconds(3_600)
  /// How long a phone may be away and keep its pairings: longer than a lift or a train's tunnel,
  /// and as long as a pair. With a push address it keeps them as long as a token of its lives.
  public var grace = Duration.seconds(600)

  /// Wrong pairs of one address within `wrongWindow` that lock it out: 20 guesses an hour.
  public var wrongPairs = 5
  /// The same while a flood of wrong pairs comes: a person that mistypes once may still correct it.
  public var floodWrongPairs = 2
  /// Wrong pairs of one IPv6 network of 48 bits, such as that of one customer of a provider, within
  /// `wrongWindow` that lock it out.
  public var wrongPairsOfNetwork = 50
  /// See `wrongPairs`.
  public var wrongWindow = Duration.seconds(600)
  /// How long an address stays locked out.
  public var lockOut = Duration.seconds(900)
  /// The rate of wrong pairs of all addresses above which it is a flood: one every this long. Other
  /// addresses are not locked out by it (decision 0030 has the probability of a right guess).
  public var wrongInterval = Duration.milliseconds(100)
  /// Wrong pairs of all addresses at once, after a pause, before it is a flood.
  public var wrongBurst = 600
  /// Addresses and networks that are watched at once; those beyond share one wrong pair every
  /// `wrongInterval`.
  public var maxWatchedAddresses = 100_000

  /// How long a call may take from its arrival to its answer.
  public var callLimit = Duration.seconds(45)
  /// How long a question waits for a phone that lost its socket and that no push can wake: two
  /// retries 2 s apart and their handshakes, twice. Later nothing speaks for its return.
  public var returnWait = Duration.seconds(10)
  /// How long a phone may keep a leased question.
  public var lease = Duration.seconds(25)
  /// Questions that one pull takes at the most.
  public var maxLeased = 8
  /// How long a phone that was woken is not woken again, unless it came and found nothing more to
  /// do: a pull takes up to 25 s, and finds by itself what comes meanwhile.
  public var pushGap = Duration.seconds(20)
  /// Steady rate of pushes to one phone: one every this long; Apple wants but a few an hour.
  public var pushInterval = Duration.seconds(180)
  /// Pushes to one phone at once after a pause.
  public var pushBurst = 6

  /// Sockets of phones in total, closing ones included; the next is refused with 503.
  public var maxSockets = 10_000
  /// Sockets of phones of one address; the next is refused with 429.
  public var socketsPerAddress = 256
  /// Phones that are known, present or not; then one that is away and not paired makes
  /// room, and where there is none the next is refused with 503.
  public var maxPhones = 20_000
  /// Tokens of one phone that live at once; one more ends the oldest.
  public var tokensPerPhone = 8
  /// Open questions to one phone; the next is refused.
  public var callsPerPhone = 16
  /// Open questions in all, and logins and logouts that wait for the store; the next is refused.
  public var maxCalls = 4_096
  /// Changes that wait for the store; while there are so many, calls, pulls and upgrades are
  /// refused.
  public var maxWrites = 4_096
  /// Answers of one phone that are remembered, so that a repeated one is known again.
  public var maxSettled = 32
  /// The longest answer, in bytes.
  public var maxAnswerBytes = 8 << 20
  /// Bytes of unfinished answers in all; an answer beyond is refused.
  public var maxGatheredBytes = 64 << 20

  /// How often a phone's socket is pinged.
  public var pingInterval = Duration.seconds(25)
  /// A socket from which no byte came for this long is dropped.
  public var pongWait = Duration.seconds(60)
  /// How long a close frame may stay unanswered before the connection is dropped.
  public var closeWait = Duration.seconds(5)
  /// How long open questions may still be answered once a drain began.
  public var drainGrace = Duration.seconds(1)
  /// From the start of a drain to the end of waiting.
  public var drainLimit = Duration.seconds(10)
  /// After this long the store is asked again to forget what it failed to.
  public var storeRetry = Duration.seconds(5)
  /// `Retry-After` when a bound was reached or the store failed.
  public var busyRetry = Duration.seconds(2)

  /// The defaults that stand at each number.
  public init() {}

  /// The intervals of its sockets.
  var timing: SocketLife.Timing {
    SocketLife.Timing(pingInterval: pingInterval, pongWait: pongWait, closeWait: closeWait)
  }
}

extension RelayServerPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.pairLife, \.tokenLife, \.tokenMemory, \.grace, \.wrongWindow, \.lockOut, \.wrongInterval,
      \.callLimit, \.returnWait, \.lease, \.pushGap, \.pushInterval, \.pingInterval, \.pongWait,
      \.closeWait,
      \.drainGrace, \.drainLimit, \.storeRetry,
    ]
  }

  static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.wrongPairs, \.floodWrongPairs, \.wrongPairsOfNetwork, \.wrongBurst, \.maxWatchedAddresses,
      \.maxLeased, \.pushBurst, \.maxSockets,
      \.socketsPerAddress, \.maxPhones, \.tokensPerPhone, \.callsPerPhone, \.maxCalls,
      \.maxWrites, \.maxSettled, \.maxAnswerBytes, \.maxGatheredBytes,
    ]
  }
}
