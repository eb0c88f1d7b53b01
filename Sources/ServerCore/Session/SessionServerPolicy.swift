import LinkCore

/// Every number of the server of sessions.
///
/// The heartbeat is the original's (contract 4.2), as are the bound of a message before the client
/// names one, and the wait that `draining` advises; the rest is ours. Times below 1 ms are taken as
/// 1 ms and counts below 1 as 1.
public struct SessionServerPolicy: Sendable, Hashable {
  /// Sockets in total, closing ones included; the next is refused with 503.
  public var maxSockets = 2_000
  /// Sockets of one address; the next is refused with 429.
  public var socketsPerAddress = 256
  /// Sockets of one client; one more closes the oldest.
  public var socketsPerClient = 8
  /// How long a socket may be open without a `connect`.
  public var connectWait = Duration.seconds(30)
  /// By how much the time that is signed with a challenge may differ from the server's clock.
  public var clockTolerance = Duration.seconds(30)

  /// The time between two messages `heartbeat` to one client.
  public var heartbeat = Duration.seconds(45)
  /// The time between two ping frames to one socket.
  public var pingInterval = Duration.seconds(30)
  /// A socket from which no byte came for this long is dropped.
  public var pongWait = Duration.seconds(90)
  /// How long a close frame may stay unanswered before the connection is dropped.
  public var closeWait = Duration.seconds(5)

  /// The longest text of a prompt, in bytes; a longer one is refused as `too_long`.
  public var maxPromptBytes = 512 << 10
  /// The longest system prompt, in bytes: with its name and its end, the longest variable that
  /// Linux passes to a program (MAX_ARG_STRLEN, 128 KiB). A longer one is refused as `too_long`.
  public var maxSystemPromptBytes = (128 << 10) - "HOLDFAST_SYSTEM_PROMPT=\0".utf8.count
  /// Prompts of one conversation that have not ended; the next is refused as `busy`.
  public var promptsPerConversation = 1_000
  /// Prompts of all conversations that have not ended; the next is refused as `busy`.
  public var maxPrompts = 10_000
  /// Bytes of the prompts that have not ended; one that would pass it is refused as `busy`.
  public var maxPromptsBytes = 64 << 20
  /// Handlers that run at once; further prompts wait.
  public var maxRunning = 16
  /// The steady rate of prompts of one client: one every this long; a faster one is refused as
  /// `rate_limited`.
  public var promptInterval = Duration.milliseconds(1)
  /// Prompts of one client at once after a pause.
  public var promptBurst = 5_000
  /// How long a handler may run (the original's limit of a turn, contract 4.1 item 15).
  public var turnLimit = Duration.seconds(300)
  /// How long a handler that is cancelled may take to end before its prompt ends without it.
  public var cancelWait = Duration.seconds(5)
  /// The longest response, in bytes; a handler that writes more has failed.
  public var maxResponseBytes = 1 << 20

  /// Answers that wait for the acknowledgement of one client; beyond, the oldest are removed.
  public var answersPerClient = 1_000
  /// Bytes of the answers that wait for one client; beyond, the oldest are removed.
  public var answersBytesPerClient = 16 << 20
  /// How long answers, the keys of prompts, and clients are remembered.
  public var memory = Duration.seconds(30 * 86_400)
  /// Prompts that have ended and are remembered with their keys; beyond, the oldest are removed.
  public var maxEnded = 20_000
  /// Bytes of the prompts that have ended, and of their answers; beyond, the oldest are removed.
  public var maxEndedBytes = 64 << 20
  /// Clients that are remembered; beyond, the one that was seen the longest ago is removed.
  public var maxClients = 10_000

  /// Messages that are kept of one conversation; beyond, the oldest are removed.
  public var entriesPerConversation = 2_000
  /// Bytes of all conversations; beyond, the one that was used the longest ago is shortened.
  public var maxHistoryBytes = 64 << 20
  /// Conversations that are kept; beyond, the one that was used the longest ago is removed.
  public var maxConversations = 10_000
  /// Messages of one window of a conversation.
  public var windowEntries = 100
  /// Conversations that one socket subscribes to; the next is refused.
  public var maxSubscriptions = 1_000

  /// The longest message to a client that named no bound, in bytes.
  public var usualMessageBytes = 100 << 10
  /// The longest message to any client, in bytes.
  public var maxMessageBytes = 2 << 20
  /// Bytes of responses and histories that are given to a socket before it took them.
  ///
  /// What is small, such as `pong` and `ack`, does not wait behind them.
  public var laneBytes = 256 << 10
  /// Responses and windows that wait for one socket; beyond, it is closed as a slow reader.
  public var maxParcels = 4_096

  /// Changes that wait for the store; while there are so many, prompts are refused as `busy`.
  public var maxWrites = 4_096
  /// After this long the store is asked again for what it failed to keep.
  public var storeRetry = Duration.seconds(2)
  /// How long acknowledgements may wait for the store.
  public var ackDelay = Duration.seconds(1)
  /// How long handlers may still end once a drain began.
  public var drainGrace = Duration.seconds(1)
  /// From the start of a drain to the end of waiting.
  public var drainLimit = Duration.seconds(10)
  /// When clients are told to return after a drain.
  public var drainRetry = Duration.seconds(5)
  /// `Retry-After` when a bound was reached.
  public var busyRetry = Duration.seconds(2)

  /// The defaults that stand at each number.
  public init() {}

  /// The intervals of its sockets.
  var timing: SocketLife.Timing {
    SocketLife.Timing(pingInterval: pingInterval, pongWait: pongWait, closeWait: closeWait)
  }
}

extension SessionServerPolicy: ServerPolicy {
  static var times: [WritableKeyPath<Self, Duration>] {
    [
      \.connectWait, \.clockTolerance, \.heartbeat, \.pingInterval, \.pongWait, \.closeWait,
      \.promptInterval, \.turnLimit, \.cancelWait, \.memory, \.storeRetry, \.ackDelay,
      \.drainGrace, \.drainLimit, \.drainRetry, \.busyRetry,
    ]
  }

  static var counts: [WritableKeyPath<Self, Int>] {
    [
      \.maxSockets, \.socketsPerAddress, \.socketsPerClient, \.maxPromptBytes,
      \.maxSystemPromptBytes,
      \.promptsPerConversation, \.maxPrompts, \.maxPromptsBytes, \.maxRunning, \.promptBurst,
      \.maxResponseBytes, \.answersPerClient, \.answersBytesPerClient, \.maxEnded,
      \.maxEndedBytes, \.maxClients, \.entriesPerConversation, \.maxHistoryBytes,
      \.maxConversations, \.windowEntries, \.maxSubscriptions, \.usualMessageBytes,
      \.maxMessageBytes, \.laneBytes, \.maxParcels, \.maxWrites,
    ]
  }
}
