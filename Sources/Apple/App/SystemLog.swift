#if canImport(os)
  import os

  /// A sink of log messages that writes to the system's log.
  ///
  /// A message consists of a fixed text, which everybody can read in the log, and a detail, which
  /// only a debugger shows. A detail may therefore contain the user's data, but never a secret.
  public struct SystemLog: Sendable {
    /// The importance of a message.
    public enum Level: Sendable, Hashable, CaseIterable {
      /// A step of normal work. The system discards it unless somebody watches the log.
      case detail
      /// An event that helps to explain later ones.
      case notice
      /// A failure.
      case failure
    }

    private let logger: Logger

    /// Creates a sink.
    ///
    /// - Parameters:
    ///   - subsystem: The app's bundle identifier.
    ///   - category: The name of a feature.
    public init(subsystem: String, category: String) {
      logger = Logger(subsystem: subsystem, category: category)
    }

    /// Writes a message.
    ///
    /// - Parameters:
    ///   - text: The fixed text, which is public.
    ///   - detail: The variable part, which is private.
    public func write(_ text: StaticString, detail: String = "", level: Level = .notice) {
      let text = String(describing: text)
      let type = OSLogType(level)
      if detail.isEmpty {
        logger.log(level: type, "\(text, privacy: .public)")
      } else {
        logger.log(level: type, "\(text, privacy: .public): \(detail, privacy: .private)")
      }
    }
  }

  extension OSLogType {
    fileprivate init(_ level: SystemLog.Level) {
      switch level {
      case .detail: self = .debug
      case .notice: self = .default
      case .failure: self = .error
      }
    }
  }
#endif
