// The functions with which views of this module render themselves. The methods are in Script.

/// The state of one view, from its first appearance on.
final class StateCell: @unchecked Sendable {
  /// The place that outlives the value of the view.
  var location: StateLocation

  init(_ value: Any) { location = StateLocation(value) }
}

/// A place for a value of a view. Writes mark the view that declares it.
final class StateLocation: @unchecked Sendable {
  var value: Any
  var isWritten = true

  init(_ value: Any) { self.value = value }

  func read<Value>(as type: Value.Type) -> Value {
    guard let value = value as? Value else {
      preconditionFailure("a state keeps its type")
    }
    return value
  }

  func write(_ value: Any) {
    self.value = value
    isWritten = true
  }
}

/// A property that holds state.
protocol StateHolding {
  var cell: StateCell { get }
}

/// A property that reads the environment.
protocol EnvironmentReading {
  var current: Any { get }
}

/// The accessibility properties of one element.
@_spi(Script) public struct AccessibleElement: Hashable, Sendable {
  public var label = ""
  public var value: String?
  public var hint: String?
  public var traits: Set<String> = []
}

/// Shows a tree of views as lines of text.
@MainActor final class Renderer {
  /// The environment of the view that is being shown. Views are shown on the main actor only.
  nonisolated(unsafe) static var environment = EnvironmentValues()

  unowned let screen: Screen
  var node: Node
  var misuse: [String] = []
  /// The actions of views that have just appeared.
  var appearing: [() -> Void] = []

  /// Whether the values of the views that are being shown were made in this pass.
  var isFresh = true

  init(_ screen: Screen, _ root: Node) { (self.screen, node) = (screen, root) }
}

/// A place in the tree of views, which keeps what the last pass has made of it.
@MainActor final class Node {
  var view: Any?
  var body: (any View)?
  /// The values of the environment that the body has read.
  var environment: [Any] = []
  var states: [StateLocation] = []
  var children: [NodeKey: Node] = [:]

  var isShown = false
  var hasAppeared = false
  /// The task of the view, and the value for which it runs.
  var task: Task<Void, Never>?
  var taskValue: Any?
  let change = Change()

  // A view that is no longer shown has no task.
  deinit { task?.cancel() }
}

/// The key of a place among its siblings.
struct NodeKey: Hashable {
  let type: ObjectIdentifier
  let key: AnyHashable
}

/// Whether a value that a body has read was changed.
final class Change: @unchecked Sendable {
  var isPending = true
}

/// A screen that a test reads and uses.
@_spi(Script) @MainActor public final class Screen {
  /// A button that is shown.
  public struct Button {
    public var name: String
    public var isEnabled: Bool
    public var isDestructive: Bool
    let action: @MainActor () -> Void
  }

  /// A field that is shown.
  public struct Field {
    public var name: String
    let text: Binding<String>
  }

  /// A switch that is shown.
  public struct Switch {
    public var name: String
    public var isEnabled: Bool
    let isOn: Binding<Bool>
  }

  /// The visible lines of text.
  public internal(set) var lines: [String] = []
  public internal(set) var buttons: [Button] = []
  public internal(set) var fields: [Field] = []
  public internal(set) var switches: [Switch] = []
  public internal(set) var elements: [AccessibleElement] = []
  /// The number of evaluated bodies since `resetEvaluations()`, by the name of the view's type.
  public internal(set) var evaluations: [String: Int] = [:]
  /// The first times at which the screen is shown again.
  public internal(set) var ticks: [Date] = []
  /// The tasks that views have begun, in their order. A task is cancelled when its view goes away.
  public internal(set) var tasks: [Task<Void, Never>] = []
  /// The misuses of the framework by views.
  public internal(set) var misuse: [String] = []
  /// The time of the screen.
  public var now: Date { didSet { isStale = true } }

  var refreshAction: (@Sendable () async -> Void)?
  var submit: (@MainActor () -> Void)?
  var isStale = true
  /// The shown view. Another view of the same type keeps the state.
  public var root: any View
  let node = Node()
  var environment: EnvironmentValues

  /// Creates a screen and shows it.
  public init(
    _ root: any View, language: String = "en", now: Date = Date(timeIntervalSince1970: 0),
    reducesMotion: Bool = false
  ) {
    (self.root, self.now) = (root, now)
    environment = EnvironmentValues()
    environment.locale = Locale(identifier: language)
    environment.calendar.timeZone = .gmt
    environment.reducesMotion = reducesMotion
    render()
  }
}
