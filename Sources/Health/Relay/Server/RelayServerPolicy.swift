import HoldfastCore
import HoldfastServerParts

/// The configuration of the relay.
///
/// The lifetimes of pairing codes (10 minutes), tokens (7,200 s, contract 1.7), calls (45 s,
/// contract 1.9) and leases (25 s, the time that a phone gets after a push) come from the
/// requirements. All other numbers were chosen for this package. Durations below 1 ms are treated
/// as 1 ms, and counts below 1 as 1.
public struct RelayServerPolicy: Sendable, Hashable {
  /// The lifetime of a pairing code. The phone then shows a new one.
  public var pairLife = Duration.seconds(600)
  /// The lifetime of a bearer token.
  public var tokenLife = Duration.seconds(7_200)
  /// Whether each question renews the token of a login for another `tokenLife`.
  public var renewsTokens = false
  /// The time after which a grant (OAuth) that nobody uses ends. Each renewal restarts it.
  public var grantLife = Duration.seconds(30 * 86_400)
  /// The time for which the previous generation of a grant is accepted after a renewal, for a client
  /// that lost the answer or renews twice at once.
  public var renewalGrace = Duration.seconds(30)
  /// The time after which a grant ends whose code was not redeemed: twice the lifetime of a code.
  public var grantWait = Duration.seconds(120)
  /// The time for which an expired token is kept, so that its assistant receives the reason.
  public var tokenMemory = Duration.seconds(3_600)
  /// The time that a phone may be away without losing its pairings.
  ///
  /// It is longer than a ride in an elevator or through a tunnel, and equals the lifetime of a
  /// pairing code. A phone with a push address keeps its pairings until its last token expires.
  public var grace = Duration.seconds(600)

  /// The number of wrong codes within `wrongWindow` that lock an address out. It allows 20 guesses
  /// an hour.
  public var wrongPairs = 5
  /// The same limit during a flood of wrong codes. A person who mistypes a code once can still
  /// correct it.
  public var floodWrongPairs = 2
  /// The number of wrong codes from one /48 IPv6 network within `wrongWindow` that lock the network
  /// out.
  ///
  /// A provider usually assigns one /48 network to each customer.
  public var wrongPairsOfNetwork = 50
  /// The time window of `wrongPairs` and `wrongPairsOfNetwork`.
  public var wrongWindow = Duration.seconds(600)
  /// The time for which an address stays locked out.
  public var lockOut = Duration.seconds(900)
  /// The minimum average time between wrong codes from all addresses. A higher rate counts as a
  /// flood.
  ///
  /// A flood does not lock out other addresses. Decision 0030 states the probability of a correct
  /// guess.
  public var wrongInterval = Duration.milliseconds(100)
  /// The number of wrong codes from all addresses that may follow a pause before they count as a
  /// flood.
  public var wrongBurst = 600
  /// The maximum number of tracked addresses and networks.
  ///
  /// All further addresses together may send one wrong code every `wrongInterval`.
  public var maxWatchedAddresses = 100_000

  /// The time limit of a call, from its arrival to its answer.
  public var callLimit = Duration.seconds(45)
  /// The time for which a question waits for a disconnected phone that no push can wake.
  ///
  /// It allows for two retries 2 s apart and their handshakes, twice over. A later return is
  /// unlikely.
  public var returnWait = Duration.seconds(10)
  /// The time for which a phone that is asleep or silent is waited for, before synced samples answer
  /// a question.
  public var syncedWait = Duration.seconds(5)
  /// The time for which a question is leased to a phone.
  public var lease = Duration.seconds(25)
  /// The maximum number of questions that one pull leases.
  public var maxLeased = 8
  /// The minimum time between two pushes to a phone that has not yet found its queue empty.
  ///
  /// A pull takes up to 25 s and includes the questions that arrive in the meantime.
  public var pushGap = Duration.seconds(20)
  /// The minimum average time between two pushes to one phone. Apple allows only a few pushes an
  /// hour.
  public var pushInterval = Duration.seconds(180)
  /// The number of pushes that one phone may receive in quick succession after a pause.
  public var pushBurst = 6

  /// The maximum number of phones' sockets, including closing ones. Further sockets are refused
  /// with 503.
  public var maxSockets = 10_000
  /// The maximum number of phones' sockets from one address. Further sockets are refused with 429.
  ///
  /// It is a quarter of `maxSockets`: an office or a carrier may have thousands of phones behind one
  /// address, and one address alone cannot take all places.
  public var socketsPerAddress = 2_500
  /// The maximum number of known phones, connected or not.
  ///
  /// At the limit, a new phone replaces an unpaired phone that is away. If there is none, the new
  /// phone is refused with 503.
  public var maxPhones = 20_000
  /// The maximum number of valid tokens for one phone. A further token ends the oldest.
  public var tokensPerPhone = 8
  /// The maximum number of open questions to one phone. Further questions are refused.
  public var callsPerPhone = 16
  /// The maximum number of open questions, waiting logins and waiting logouts in total. Further
  /// calls are refused.
  public var maxCalls = 4_096
  /// The maximum number of changes that wait for the store.
  ///
  /// At the limit, calls, pulls and upgrades are refused.
  public var maxWrites = 4_096
  /// The number of ended questions that are remembered for each phone to detect repeated answers.
  public var maxEnded = 32
  /// The maximum size of an answer, in bytes.
  public var maxAnswerBytes = 8 << 20
  /// The maximum total size of all unfinished answers, in bytes. An answer that exceeds it is
  /// refused.
  public var maxGatheredBytes = 64 << 20

  /// The time between two pings to a phone's socket.
  public var pingInterval = Duration.seconds(25)
  /// The time without any received byte after which a socket is dropped.
  public var pongWait = Duration.seconds(60)
  /// The time limit for the answer to a close frame, after which the connection is dropped.
  public var closeWait = Duration.seconds(5)
  /// The time for which open questions may still be answered after a drain starts.
  public var drainGrace = Duration.seconds(1)
  /// The time limit of a drain.
  public var drainLimit = Duration.seconds(10)
  /// The time after which a failed removal is retried.
  public var storeRetry = Duration.seconds(5)
  /// The `Retry-After` value of a refusal because a bound was reached or the store failed.
  public var busyRetry = Duration.seconds(2)

  /// Creates a policy with the default values.
  public init() {}

  /// The limits of wrong pairing codes, and of wrong secrets of health sync.
  var wrongLimits: LockOut.Limits {
    LockOut.Limits(
      wrongs: wrongPairs, floodWrongs: floodWrongPairs, wrongsOfNetwork: wrongPairsOfNetwork,
      window: wrongWindow, time: lockOut, interval: wrongInterval, burst: wrongBurst,
      maxWatched: maxWatchedAddresses)
  }

  /// The intervals of the relay's sockets.
  var timing: SocketLife.Timing {
    SocketLife.Timing(pingInterval: pingInterval, pongWait: pongWait, closeWait: closeWait)
  }
}

extension RelayServerPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.pairLife, \.tokenLife, \.grantLife, \.renewalGrace, \.grantWait, \.tokenMemory, \.grace,
      \.wrongWindow, \.lockOut, \.wrongInterval,
      \.callLimit, \.returnWait, \.syncedWait, \.lease, \.pushGap, \.pushInterval, \.pingInterval,
      \.pongWait,
      \.closeWait,
      \.drainGrace, \.drainLimit, \.storeRetry,
    ]
  }

  static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.wrongPairs, \.floodWrongPairs, \.wrongPairsOfNetwork, \.wrongBurst, \.maxWatchedAddresses,
      \.maxLeased, \.pushBurst, \.maxSockets,
      \.socketsPerAddress, \.maxPhones, \.tokensPerPhone, \.callsPerPhone, \.maxCalls,
      \.maxWrites, \.maxEnded, \.maxAnswerBytes, \.maxGatheredBytes,
    ]
  }
}
