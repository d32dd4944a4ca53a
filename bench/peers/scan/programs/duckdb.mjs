// Runs a query: node duckdb.mjs csv|parquet FILE THREADS. Or writes the first rows of a CSV file as
// Parquet: node duckdb.mjs write FILE THREADS ROWS OUTPUT. Or prints its version.
import { DuckDBInstance } from '@duckdb/node-api'

const [what, file, threads, rows, output] = process.argv.slice(2)
const instance = await DuckDBInstance.create(':memory:', { threads: threads ?? '1' })
const connection = await instance.connect()
const csv = `read_csv('${file}', delim=';', header=true, columns={'station': 'VARCHAR', 'temperature': 'DOUBLE'})`

async function all (query) {
  return (await connection.runAndReadAll(query)).getRows()
}

if (what === 'version') {
  console.log(JSON.stringify({ Version: (await all('SELECT version()'))[0][0] }))
} else if (what === 'write') {
  await connection.run(`COPY (SELECT * FROM ${csv} LIMIT ${rows}) TO '${output}' (FORMAT parquet)`)
  console.log('{}')
} else {
  const began = performance.now()
  const result = await all('SELECT station, min(temperature), avg(temperature), max(temperature) FROM ' +
    (what === 'csv' ? csv : `read_parquet('${file}')`) + ' GROUP BY station ORDER BY station')
  console.log(JSON.stringify({ Seconds: (performance.now() - began) / 1000, Rows: result }))
}
