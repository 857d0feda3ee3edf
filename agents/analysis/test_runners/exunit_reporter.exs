# Writes each test that ExUnit ends as a line of JSON, called as `mix test` calls it where it fails.
# https://hexdocs.pm/ex_unit/ExUnit.Formatter.html
defmodule Fettle.ExUnitReporter do
  use GenServer

  @file_for_programs Path.join(__DIR__, "exunit.json")

  def init(_options), do: File.open(@file_for_programs, [:append, :utf8])

  def handle_cast({:test_finished, test}, file) do
    name = escape("#{test.name} (#{inspect(test.module)})")
    IO.puts(file, ~s({"name":"#{name}","state":"#{judge(test.state)}"}))
    {:noreply, file}
  end

  def handle_cast({:suite_finished, _times}, file) do
    IO.puts(file, ~s({"ended":true}))
    {:noreply, file}
  end

  def handle_cast({:suite_finished, _run, _load}, file) do
    handle_cast({:suite_finished, nil}, file)
  end

  def handle_cast(_event, file), do: {:noreply, file}

  defp judge(nil), do: "passed"
  defp judge({:failed, _failures}), do: "failed"
  defp judge({how, _why}), do: "#{how}"

  defp escape(text), do: for(<<sign::utf8 <- text>>, into: "", do: escape_sign(sign))

  defp escape_sign(sign) when sign in [?", ?\\], do: <<?\\, sign>>
  defp escape_sign(sign) when sign < 32, do: "\\u00" <> String.pad_leading(Integer.to_string(sign, 16), 2, "0")
  defp escape_sign(sign), do: <<sign::utf8>>
end
