import HoldfastCore
import HoldfastServerParts

/// The configuration of the session server.
///
/// The heartbeat interval, the default maximum message size, and the wait that `draining`
/// recommends are those of the original server (contract 4.2). All other numbers were chosen for
/// this package. Durations below 1 ms are treated as 1 ms, and counts below 1 as 1.
public struct SessionServerPolicy: Sendable, Hashable {
  /// The maximum number of sockets, including closing ones. Further upgrades are refused with 503.
  public var maxSockets = 2_000
  /// The maximum number of sockets from one address. Further upgrades are refused with 429.
  ///
  /// It is a quarter of `maxSockets`, as that of phones.
  public var socketsPerAddress = 500
  /// The maximum number of sockets of one client. A further socket closes the oldest.
  public var socketsPerClient = 8
  /// The time that a socket may stay open without a `connect`.
  public var connectWait = Duration.seconds(30)
  /// The maximum difference between the time that a client signs and the server's clock.
  public var clockTolerance = Duration.seconds(30)

  /// The time between two `heartbeat` messages to one client.
  public var heartbeat = Duration.seconds(45)
  /// The time between two ping frames to one socket.
  public var pingInterval = Duration.seconds(30)
  /// The time without any received byte after which a socket is dropped.
  public var pongWait = Duration.seconds(90)
  /// The time limit for the answer to a close frame, after which the connection is dropped.
  public var closeWait = Duration.seconds(5)

  /// The maximum size of a prompt's text, in bytes. A longer text is refused as `too_long`.
  public var maxPromptBytes = 512 << 10
  /// The maximum size of a system prompt, in bytes. A longer one is refused as `too_long`.
  ///
  /// With its name and terminator, such a prompt is the longest environment variable that Linux
  /// passes to a program (MAX_ARG_STRLEN, 128 KiB).
  public var maxSystemPromptBytes = (128 << 10) - "HOLDFAST_SYSTEM_PROMPT=\0".utf8.count
  /// The maximum number of open prompts of one conversation. Further prompts are refused as `busy`.
  public var promptsPerConversation = 1_000
  /// The maximum number of open prompts of all conversations. Further prompts are refused as
  /// `busy`.
  public var maxPrompts = 10_000
  /// The maximum total size of all open prompts, in bytes. A prompt that exceeds it is refused as
  /// `busy`.
  public var maxPromptsBytes = 64 << 20
  /// The maximum number of handlers that run at the same time. Further prompts wait.
  public var maxRunning = 16
  /// The minimum average time between two prompts of one client.
  ///
  /// Prompts that exceed both this rate and `promptBurst` are refused as `rate_limited`.
  public var promptInterval = Duration.milliseconds(1)
  /// The number of prompts that one client may send in quick succession after a pause.
  public var promptBurst = 5_000
  /// The time limit of a handler. It is the original server's limit (contract 4.1 item 15).
  public var turnLimit = Duration.seconds(300)
  /// The time that a cancelled handler has to end. After this time, the prompt fails without
  /// waiting for the handler.
  public var cancelWait = Duration.seconds(5)
  /// The maximum size of a response, in bytes. A prompt whose handler produces more fails.
  public var maxResponseBytes = 1 << 20

  /// The maximum number of unacknowledged answers of one client. Beyond it, the oldest are removed.
  public var answersPerClient = 1_000
  /// The maximum total size of one client's unacknowledged answers, in bytes. The oldest are
  /// removed first.
  public var answersBytesPerClient = 16 << 20
  /// The time for which answers, prompt keys and clients are stored.
  public var memory = Duration.seconds(30 * 86_400)
  /// The maximum number of ended prompts that are stored with their keys. Beyond it, the oldest are
  /// removed.
  public var maxEnded = 20_000
  /// The maximum total size of ended prompts and their answers, in bytes. The oldest are removed
  /// first.
  public var maxEndedBytes = 64 << 20
  /// The maximum number of stored clients. Beyond it, the least recently seen client is removed.
  public var maxClients = 10_000
  /// The maximum number of stored clients of one user with a token. Beyond it, the user's own client
  /// that was away the longest is removed.
  public var clientsPerUser = 32

  /// The maximum number of messages that are stored of one conversation. The oldest are removed
  /// first.
  public var entriesPerConversation = 2_000
  /// The maximum total size of all conversations, in bytes. The least recently used ones are
  /// shortened first.
  public var maxHistoryBytes = 64 << 20
  /// The maximum number of stored conversations. The least recently used one is removed first.
  public var maxConversations = 10_000
  /// The maximum number of messages in one window of a conversation.
  public var windowEntries = 100
  /// The maximum number of subscriptions of one socket. Further subscriptions are refused.
  public var maxSubscriptions = 1_000

  /// The maximum size of a message to a client that has not set a maximum, in bytes.
  public var usualMessageBytes = 100 << 10
  /// The maximum size of a message to any client, in bytes.
  public var maxMessageBytes = 2 << 20
  /// The maximum number of bytes of responses and histories in flight to one socket.
  ///
  /// Small messages such as `pong` and `ack` do not wait for them.
  public var queueBytes = 256 << 10
  /// The maximum number of responses and windows that wait for one socket.
  ///
  /// If the limit is exceeded, the socket is closed as a slow reader.
  public var maxQueued = 4_096

  /// The maximum number of changes that wait for the store. At the limit, prompts are refused as
  /// `busy`.
  public var maxWrites = 4_096
  /// The time after which a failed write is retried.
  public var storeRetry = Duration.seconds(2)
  /// The maximum delay until acknowledgements are stored.
  public var ackDelay = Duration.seconds(1)
  /// The time that handlers have to end after a drain starts.
  public var drainGrace = Duration.seconds(1)
  /// The time limit of a drain.
  public var drainLimit = Duration.seconds(10)
  /// The time that draining clients are asked to wait before they return.
  public var drainRetry = Duration.seconds(5)
  /// The `Retry-After` value of a response to a request that exceeds a bound.
  public var busyRetry = Duration.seconds(2)

  /// Creates a policy with the default values.
  public init() {}

  /// The intervals of the server's sockets.
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
      \.maxEndedBytes, \.maxClients, \.clientsPerUser, \.entriesPerConversation, \.maxHistoryBytes,
      \.maxConversations, \.windowEntries, \.maxSubscriptions, \.usualMessageBytes,
      \.maxMessageBytes, \.queueBytes, \.maxQueued, \.maxWrites,
    ]
  }
}
