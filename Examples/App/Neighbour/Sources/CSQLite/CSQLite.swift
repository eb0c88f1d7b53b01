/// The name of a module that other packages use too.
public enum CSQLite {}
