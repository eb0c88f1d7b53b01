import HoldfastJSON
import HoldfastServerSockets

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The description of a lab for its page.
enum LabPage {
  /// Returns a JSON object with the links and the buttons.
  static func description(of features: [any LabFeature]) -> [UInt8] {
    var writer = JSONWriter(capacity: 4_096)
    writer.object { writer in
      writer.array("links") { writer in
        for feature in features {
          writer.object {
            $0.entry("name", feature.name)
            $0.entry("title", feature.title)
            $0.entry("writes", feature.writes)
          }
        }
      }
      writer.array("groups") { writer in
        for group in LabDeed.Group.allCases { write(group, to: &writer) }
      }
    }
    return writer.bytes
  }

  private static func write(_ group: LabDeed.Group, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.entry("name", group.rawValue)
      writer.array("deeds") { writer in
        for deed in LabDeed.allCases where deed.group == group {
          writer.object {
            $0.entry("name", deed.rawValue)
            $0.entry("title", deed.title)
            $0.entry("say", deed.sentence)
            $0.entry("lasts", deed.lasts)
          }
        }
      }
    }
  }

  /// Returns the reason why a server could not be started, and what can be done.
  static func words(for error: SocketServerError) -> String {
    switch error {
    case .bind(_, _, EADDRINUSE): "another program uses it; choose another with --port"
    case .bind(_, _, EACCES): "it is not allowed; choose one above 1023 with --port"
    case .bind(_, _, let code), .system(_, let code): "errno \(code)"
    case .address, .tls, .alreadyStarted: "\(error)"
    }
  }
}
