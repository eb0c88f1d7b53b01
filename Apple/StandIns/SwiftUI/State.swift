// State, bindings, and the environment.

public protocol DynamicProperty {}

@propertyWrapper public struct State<Value>: DynamicProperty {
  let cell: StateCell

  public init(wrappedValue value: Value) { cell = StateCell(value) }
  public init(initialValue value: Value) { cell = StateCell(value) }

  public var wrappedValue: Value {
    get { cell.location.read(as: Value.self) }
    nonmutating set { cell.location.write(newValue) }
  }
  public var projectedValue: Binding<Value> { Binding(cell.location) }
}

extension State where Value: ExpressibleByNilLiteral {
  public init() { self.init(wrappedValue: nil) }
}

extension State: StateHolding {}

extension State: Sendable where Value: Sendable {}

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
  private let get: () -> Value
  private let set: (Value) -> Void

  init(_ location: StateLocation) {
    get = { location.read(as: Value.self) }
    set = { location.write($0) }
  }
  fileprivate init(reading get: @escaping () -> Value, writing set: @escaping (Value) -> Void) {
    (self.get, self.set) = (get, set)
  }
  @preconcurrency public init(
    @_inheritActorContext get: @escaping @isolated(any) @Sendable () -> Value,
    @_inheritActorContext set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {
    // SwiftUI calls both on the main actor, to which views are isolated.
    self.get = unsafeBitCast(get, to: (@Sendable () -> Value).self)
    self.set = unsafeBitCast(set, to: (@Sendable (Value) -> Void).self)
  }
  public static func constant(_ value: Value) -> Binding<Value> {
    Binding(reading: { value }, writing: { _ in })
  }

  public var wrappedValue: Value {
    get { get() }
    nonmutating set { set(newValue) }
  }
  public var projectedValue: Binding<Value> { self }
  public init(projectedValue: Binding<Value>) { self = projectedValue }

  public subscript<Subject>(
    dynamicMember keyPath: WritableKeyPath<Value, Subject>
  ) -> Binding<Subject> {
    let (get, set) = (get, set)
    return Binding<Subject>(
      reading: { get()[keyPath: keyPath] },
      writing: {
        var value = get()
        value[keyPath: keyPath] = $0
        set(value)
      })
  }
}

extension Binding: @unchecked Sendable where Value: Sendable {}
extension Binding: DynamicProperty {}

@propertyWrapper @dynamicMemberLookup public struct Bindable<Value> {
  public var wrappedValue: Value
  public var projectedValue: Bindable<Value> { self }

  public init(wrappedValue: Value) where Value: AnyObject, Value: Observable {
    self.wrappedValue = wrappedValue
  }
}

extension Bindable where Value: AnyObject, Value: Observable {
  public init(_ wrappedValue: Value) { self.wrappedValue = wrappedValue }

  public subscript<Subject>(
    dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>
  ) -> Binding<Subject> {
    let object = wrappedValue
    return Binding<Subject>(
      reading: { object[keyPath: keyPath] }, writing: { object[keyPath: keyPath] = $0 })
  }
}

public protocol EnvironmentKey {
  associatedtype Value
  static var defaultValue: Value { get }
}

public struct EnvironmentValues {
  var values: [ObjectIdentifier: Any] = [:]
  var objects: [ObjectIdentifier: AnyObject] = [:]

  public init() {}
  public subscript<K>(key: K.Type) -> K.Value where K: EnvironmentKey {
    get { values[ObjectIdentifier(key)] as? K.Value ?? K.defaultValue }
    set { values[ObjectIdentifier(key)] = newValue }
  }
  public subscript<T>(objectType: T.Type) -> T? where T: AnyObject, T: Observable {
    get { objects[ObjectIdentifier(objectType)] as? T }
    set { objects[ObjectIdentifier(objectType)] = newValue }
  }

  public var locale: Locale = Locale(identifier: "en")
  public var calendar: Calendar = Calendar(identifier: .gregorian)
  public var isEnabled: Bool = true
  var reducesMotion = false
  public var accessibilityReduceMotion: Bool { reducesMotion }
}

@propertyWrapper public struct Environment<Value>: DynamicProperty, EnvironmentReading {
  private let read: (EnvironmentValues) -> Value

  public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { read = { $0[keyPath: keyPath] } }
  public init(_ objectType: Value.Type) where Value: AnyObject, Value: Observable {
    read = { values in
      guard let object = values[objectType] else {
        preconditionFailure("no \(objectType) is in the environment")
      }
      return object
    }
  }
  public init<T>(_ objectType: T.Type) where Value == T?, T: AnyObject, T: Observable {
    read = { $0[objectType] }
  }

  public var wrappedValue: Value { read(Renderer.environment) }
  var current: Any { wrappedValue }
}

extension View {
  nonisolated public func environment<T>(_ object: T?) -> some View
  where T: AnyObject, T: Observable {
    nonisolated(unsafe) let object = object
    return Changed(self) { renderer, content in
      renderer.with({ $0[T.self] = object }) { renderer.show(content, at: 0) }
    }
  }
  nonisolated public func environment<V>(
    _ keyPath: WritableKeyPath<EnvironmentValues, V>, _ value: V
  ) -> some View {
    nonisolated(unsafe) let (keyPath, value) = (keyPath, value)
    return Changed(self) { renderer, content in
      renderer.with({ $0[keyPath: keyPath] = value }) { renderer.show(content, at: 0) }
    }
  }
}
