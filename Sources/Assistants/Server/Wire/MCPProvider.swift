/// The place from which a server takes the health data of its answers.
package enum MCPProvider: Sendable, Hashable, Codable, CaseIterable {
  /// A phone, with which an assistant pairs first.
  case phone
  /// A phone whose user signed the assistant in on a web page, so the tools have no login.
  case signedIn
  /// A store on this machine. Its owner starts the server, so there is no login.
  case store

  /// A text for the model about the server as a whole.
  var instructions: String {
    switch self {
    case .phone: MCPResult.instructions
    case .signedIn:
      "Health data of a person, read from their phone while it is connected. The person has signed "
        + "in: ask get_health_metrics or get_summary."
    case .store:
      "Health data of a person, from an export of Apple Health that is stored on this machine. "
        + "There is nothing to log in to: ask at once."
    }
  }

  /// The tools, in the order of the list.
  package var tools: [MCPTool] {
    switch self {
    case .phone: MCPTool.allCases
    case .signedIn, .store: MCPTool.allCases.filter { $0 != .directLogin && $0 != .logout }
    }
  }

  /// Returns the tool with a name, or `nil` if the server does not have it.
  package func tool(named name: String) -> MCPTool? {
    MCPTool(rawValue: name).flatMap { tools.contains($0) ? $0 : nil }
  }

  /// Returns the schema of a tool's arguments.
  func input(of tool: MCPTool) -> MCPSchema {
    switch self {
    case .phone: tool.input
    case .signedIn, .store: tool.input.without("access_token")
    }
  }

  /// Returns the schema of a tool's result. Only a phone has a clock of its own, and synced samples
  /// in its place.
  func output(of tool: MCPTool) -> MCPSchema {
    switch self {
    case .phone, .signedIn: tool.output
    case .store:
      ["clock_difference_seconds", "clock_warning", "source", "as_of", "note"]
        .reduce(tool.output) { $0.without($1) }
    }
  }

  /// The value of `error` if a question was refused by what answers it.
  var refusal: String {
    switch self {
    case .phone, .signedIn: "phone_refused"
    case .store: "refused"
    }
  }
}

extension MCPSchema {
  /// Returns the schema without a member of the object.
  fileprivate func without(_ name: String) -> MCPSchema {
    guard case .object(let members, let isOpen) = self else { return self }
    return .object(members.filter { $0.name != name }, isOpen: isOpen)
  }
}
